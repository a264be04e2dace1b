import {
  at,
  type Json,
  type JsonObject,
  DOCUMENTS,
  meaningOf,
  type Parts,
  partsOf,
} from '../support/openapi-meaning.js';

const DRY_RUN = { name: 'dryRun', in: 'query', schema: { type: 'boolean' } };

describe.each(DOCUMENTS)('$title', ({ document, other }) => {
  it.each<[string, (parts: Parts) => void]>([
    ['another version of OpenAPI', ({ document }) => (document.openapi = '3.1.99')],
    ['a rewritten summary', ({ operation }) => (operation.summary = 'Something else.')],
    ['a rewritten field', ({ tag }) => (tag.description = 'Something else.')],
    ['another example', ({ body }) => (body.example = { id: 3, name: 'Fern' })],
    ['required fields in another order', ({ error }) => (error.required = ['message', 'error'])],
    ['an inline schema instead of a reference', ({ accepted, plant }) => (accepted.schema = plant)],
    ['a schema in parts', ({ schemas, error }) => (schemas.Error = { allOf: [error, { type: 'object' }] })],
    [
      'security in both places',
      ({ document, operation }) => (document.security = operation.security = [{ bearer: [] }]),
    ],
  ])('still agrees with it after %s', (_what, change) => {
    expect(meaningOf(changed(document, change))).toEqual(meaningOf(other));
  });

  it.each<[string, (parts: Parts) => void]>([
    ['another path', ({ paths, path }) => (paths['/seeds'] = path)],
    ['a renamed path', ({ document, path }) => (document.paths = { '/plant': path })],
    ['another method', ({ path, operation }) => (path.put = operation)],
    ['a renamed method', ({ paths, operation }) => (paths['/plants'] = { put: operation })],
    ['a webhook', ({ document, path }) => (document.webhooks = { created: path })],
    ['another operationId', ({ operation }) => (operation.operationId = 'addPlant')],
    ['no operationId', ({ operation }) => delete operation.operationId],
    ['a deprecated operation', ({ operation }) => (operation.deprecated = true)],
    ['another tag of the operation', ({ operation }) => (operation.tags = ['Seeds'])],
    ['a query parameter', ({ operation }) => (operation.parameters = [DRY_RUN])],
    ['a parameter of the path', ({ path }) => (path.parameters = [DRY_RUN])],
    ['no security at all', ({ document, operation }) => (delete document.security, delete operation.security)],
    ['no security for the operation', ({ operation }) => (operation.security = [])],
    ['optional security', ({ operation }) => (operation.security = [{ bearer: [] }, {}])],
    ['another kind of security', ({ schemes }) => (schemes.bearer = { type: 'http', scheme: 'basic' })],
    [
      'a format of the token',
      ({ schemes }) => (schemes.bearer = { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' }),
    ],
    ['a second security scheme', ({ schemes }) => (schemes.basic = { type: 'http', scheme: 'basic' })],
    ['an optional body', ({ requestBody }) => (requestBody.required = false)],
    ['a body of another schema', ({ body }) => (body.schema = { $ref: '#/components/schemas/Plant' })],
    ['a second media type of the body', ({ requestBody, body }) => (at(requestBody, 'content')['text/json'] = body)],
    ['another media type of the body', ({ requestBody, body }) => (requestBody.content = { 'text/json': body })],
    ['no body', ({ operation }) => delete operation.requestBody],
    ['another answer', ({ responses }) => (responses['401'] = { description: 'no token' })],
    ['a default answer', ({ responses }) => (responses.default = { description: 'unexpected error' })],
    ['a missing answer', ({ responses }) => delete responses['400']],
    ['another description of 200', ({ responses }) => (at(responses, '200').description = 'Plant response')],
    ['another description of 400', ({ responses }) => (at(responses, '400').description = 'an error')],
    ['an answer of another schema', ({ accepted }) => (accepted.schema = { $ref: '#/components/schemas/NewPlant' })],
    ['an answer of any schema', ({ refused }) => delete refused.schema],
    ['an answer without a body', ({ responses }) => delete at(responses, '200').content],
    [
      'another media type of an answer',
      ({ responses, refused }) => (at(responses, '400').content = { '*/*': refused }),
    ],
    ['a missing header of an answer', ({ headers }) => delete headers.Allow],
    ['an additional header of an answer', ({ headers }) => (headers.Location = { schema: { type: 'string' } })],
    ['another type of a header', ({ headers }) => (at(headers, 'Retry-After').schema = { type: 'string' })],
    ['another schema', ({ schemas }) => (schemas.Seed = { type: 'object' })],
    ['a schema of another type', ({ error }) => (error.type = 'array')],
    ['an additional field', ({ plant }) => (at(plant, 'properties').height = { type: 'number' })],
    ['a field with the name description', ({ plant }) => (at(plant, 'properties').description = { type: 'string' })],
    ['a missing field', ({ error }) => delete at(error, 'properties').message],
    ['a renamed field', ({ plant, tag }) => (plant.properties = { name: { type: 'string' }, kind: tag })],
    ['a name of another type', ({ name }) => (name.type = 'number')],
    ['an optional name', ({ plant }) => (plant.required = [])],
    ['a name of another pattern', ({ name }) => (name.pattern = '^.+$')],
    ['a tag without a pattern', ({ tag }) => delete tag.pattern],
    ['a limited name', ({ name }) => (name.maxLength = 100)],
    ['a required tag', ({ plant }) => (plant.required = ['name', 'tag'])],
    ['a nullable tag', ({ tag }) => (tag.type = ['string', 'null'])],
    ['a tag with a default', ({ tag }) => (tag.default = '')],
    ['a tag with allowed values', ({ tag }) => (tag.enum = ['indoor', 'outdoor'])],
    ['an optional id', ({ newPlant }) => (newPlant.required = ['name'])],
    ['an id of another type', ({ id }) => (id.type = 'number')],
    ['an id of another format', ({ id }) => (id.format = 'int32')],
    ['an id of any format', ({ id }) => delete id.format],
    ['an id above a minimum', ({ id }) => (id.minimum = 1)],
    ['an id below a maximum', ({ id }) => (id.maximum = 2 ** 31)],
    ['an error number of another format', ({ errorNumber }) => (errorNumber.format = 'int64')],
    ['a missing error number', ({ errorNumber }) => (errorNumber.enum = (errorNumber.enum as Json[]).slice(1))],
    ['an additional error number', ({ errorNumber }) => (errorNumber.enum = [...(errorNumber.enum as Json[]), 418])],
    ['error numbers without a list', ({ errorNumber }) => delete errorNumber.enum],
    ['an optional message', ({ error }) => (error.required = ['error'])],
    ['forbidden additional fields', ({ plant }) => (plant.additionalProperties = false)],
    ['a new constraint on a whole schema', ({ error }) => (error.minProperties = 3)],
  ])('does not agree with it after %s', (_what, change) => {
    const drifted = changed(document, change);

    // meaningOf() throws for an allOf whose parts contradict each other.
    expect(() => expect(meaningOf(drifted)).toEqual(meaningOf(other))).toThrow();
  });
});

function changed(document: JsonObject, change: (parts: Parts) => void): JsonObject {
  const copy = structuredClone(document);
  change(partsOf(copy));
  expect(copy).not.toEqual(document);
  return copy;
}
