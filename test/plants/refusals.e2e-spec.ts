import { expectError, post } from '../support/plant-requests.js';
import { type Service, startService } from '../support/service.js';

const MONSTERA = { id: 1, name: 'Monstera', tag: 'indoor' };

let service: Service;

beforeAll(async () => {
  service = await startService();
});

afterEach(async () => {
  expect(await service.rows()).toEqual([]);
});

afterAll(() => service.close());

describe('POST /plants', () => {
  describe('with the id', () => {
    it.each(['9223372036854775808', '-9223372036854775809', '1.5', '1e400', '1e-1', 'true', 'null', '[1]', '{}'])(
      '%s refuses it with error 422',
      async (written) => {
        const response = await post(service.url).send(`{"id":${written},"name":"Monstera"}`);

        expectError(response, 422, 'id must be an integer from -9223372036854775808 to 9223372036854775807.');
      },
    );

    it('"7" refuses it with error 422, which says to send it without quotation marks', async () => {
      const response = await post(service.url).send('{"id":"7","name":"Monstera"}');

      expectError(
        response,
        422,
        'id must be an integer from -9223372036854775808 to 9223372036854775807: send it without quotation marks.',
      );
    });
  });

  describe('refuses a body that is not a NewPlant with error 422:', () => {
    const ID = 'id must be an integer from -9223372036854775808 to 9223372036854775807';
    const NAME = 'name must be a string without U+0000 and unpaired surrogates';
    const TAG = 'tag must be a string without U+0000 and unpaired surrogates';

    it.each([
      ['{"name":"Monstera"}', `${ID}.`],
      ['{"id":1}', `${NAME}.`],
      ['{"id":1,"name":null}', `${NAME}.`],
      ['{"id":1,"name":7}', `${NAME}.`],
      ['{"id":1,"name":["Monstera"]}', `${NAME}.`],
      ['{"id":1,"name":"Monstera","tag":null}', `${TAG}.`],
      ['{"id":1,"name":"Monstera","tag":false}', `${TAG}.`],
      ['{"id":1,"name":"\\u0000"}', `${NAME}.`],
      ['{"id":1,"name":"\\ud800"}', `${NAME}.`],
      ['{"id":1,"name":"\\udc00\\ud800"}', `${NAME}.`],
      ['{"id":1,"name":"Monstera","tag":"a\\u0000b"}', `${TAG}.`],
      ['{"id":"1","tag":{}}', [NAME, TAG, `${ID}: send it without quotation marks`]],
      ['{}', [NAME, ID]],
      ['[]', 'The body must be a JSON object with the fields of a NewPlant: id, name and optionally tag.'],
      ['[{"id":1,"name":"Monstera"}]', /object/],
      ['"x"', /object/],
      ['7', /object/],
      ['null', /object/],
      ['{"":{"id":1,"name":"Monstera"}}', [NAME, ID]],
      ['{"__proto__":{"id":1,"name":"Monstera"}}', [NAME, ID]],
      ['{"ID":1,"Name":"Monstera"}', [NAME, ID]],
    ])('%s', async (body, message) => {
      const response = await post(service.url).send(body);

      expectError(response, 422);
      if (Array.isArray(message)) {
        const parts = (response.body as { message: string }).message.replace(/\.$/, '').split('; ');
        expect(parts.sort()).toEqual([...message].sort());
      } else {
        expect((response.body as { message: string }).message).toMatch(message);
      }
    });
  });

  describe('refuses a body that is not valid JSON with error 400:', () => {
    it.each([
      ['no body', undefined, /no body/],
      ['an empty body', '', /no body/],
      ['a word', 'plant', /not JSON/],
      ['white space', ' \n', /not JSON/],
      ['half an object', '{"id":1,', /not JSON/],
      ['two objects', '{"id":1,"name":"a"}{}', /not JSON/],
      ['a form', 'id=1&name=Monstera', /not JSON/],
      ['a number with a leading zero', '{"id":01,"name":"a"}', /not JSON/],
      ['a byte order mark', '\ufeff{"id":1,"name":"a"}', /not JSON/],
      ['a control character', '{"id":1,"name":"\u0001"}', /not JSON/],
      ['the id twice', '{"id":1,"name":"a","id":1}', /id is given twice/],
      ['the name twice', '{"name":"a","id":1,"name":"b"}', /name is given twice/],
      ['the tag twice', '{"tag":"a","id":1,"name":"b","tag":"a"}', /tag is given twice/],
      ['the name twice, once with an escape', '{"n\\u0061me":"a","id":1,"name":"b"}', /name is given twice/],
    ])('%s', async (_what, body, message) => {
      const response = await (body === undefined ? post(service.url) : post(service.url).send(body));

      expectError(response, 400, expect.stringMatching(message));
    });

    it('Latin-1 instead of UTF-8', async () => {
      const response = await post(service.url).send(Buffer.from('{"id":1,"name":"Kalanchoë"}', 'latin1'));

      expectError(response, 400, expect.stringMatching(/UTF-8/));
    });
  });

  describe('refuses another media type with error 415:', () => {
    it.each([
      ['text/plain'],
      ['application/jsonp'],
      ['application/vnd.api+json'],
      ['application/x-www-form-urlencoded'],
      ['application/json, application/json'],
      ['json'],
      [''],
    ])('%p', async (type) => {
      const response = await post(service.url).set('Content-Type', type).send(JSON.stringify(MONSTERA));

      expectError(response, 415);
    });

    it('a compressed body', async () => {
      const response = await post(service.url).set('Content-Encoding', 'gzip').send(JSON.stringify(MONSTERA));

      expectError(response, 415);
    });
  });

  it('refuses a body of more than 1 MiB with error 413', async () => {
    const response = await post(service.url).send(' '.repeat(1_048_577));

    expectError(response, 413, 'The body is too large: at most 1048576 bytes are accepted.');
  });
});
