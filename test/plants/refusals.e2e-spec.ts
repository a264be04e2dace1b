import { ERROR_TABLE } from '../../src/contract/error-table.js';
import { TOKEN } from '../support/client.js';
import { sharedService } from '../support/service.js';

const INTEGER = 'an integer from -9223372036854775808 to 9223372036854775807';
const TEXT = 'a string without U+0000 and unpaired surrogates';
const ID = `id must be ${INTEGER}`;
const NO_ID = `id is missing: it must be ${INTEGER}`;
const NAME = `name must be ${TEXT}`;
const NO_NAME = `name is missing: it must be ${TEXT}`;
const TAG = `tag must be ${TEXT}`;
const OBJECT = ERROR_TABLE[422].message.slice(0, -1);

const service = sharedService();

afterEach(async () => {
  expect(await service.rows()).toEqual([]);
});

/** Sends a body, expects that it is refused with this error, and returns the message. */
async function refuse(error: number, body: string | Uint8Array<ArrayBuffer>, headers: object = {}): Promise<string> {
  const response = await fetch(`${service.url}/plants`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/json', ...headers },
    body,
  });
  const answer = (await response.json()) as { message: string };
  expect([response.status, answer]).toEqual([400, { error, message: expect.stringMatching(/^\S.*\.$/) as string }]);
  expect(response.headers.get('content-type')).toBe('application/json');
  return answer.message;
}

describe('POST /plants refuses', () => {
  it.each([
    ...['9223372036854775808', '-9223372036854775809', '1.5', '1e400', '1e-400', 'null', '[1]'],
    // A program may have rounded these.
    ...['0.99999999999999999', '4503599627370496.1', '9007199254740993.0', '4.873214862074862e+18'],
  ])('the id %s with error 422', async (written) => {
    expect(await refuse(422, `{"id":${written},"name":"Monstera"}`)).toBe(`${ID}.`);
  });

  it.each([
    { body: '{"id":"7","name":"Monstera"}', messages: [`${ID}: send it without quotation marks`] },
    { body: '{}', messages: [NO_ID, NO_NAME] },
    { body: '{"id":1}', messages: [NO_NAME] },
    { body: '{"id":1,"name":null}', messages: [NAME] },
    { body: '{"id":1,"name":"\\u0000"}', messages: [NAME] },
    { body: '{"id":1,"name":"\\udc00\\ud800"}', messages: [NAME] },
    { body: '{"id":1,"name":"Monstera","tag":null}', messages: [`${TAG}: leave it out if there is none`] },
    { body: '{"ID":1,"Name":"Monstera","tag":{}}', messages: [NO_ID, NO_NAME, TAG] },
    { body: '{"__proto__":{"id":1,"name":"Monstera"}}', messages: [NO_ID, NO_NAME] },
    { body: '[{"id":1,"name":"Monstera"}]', messages: [OBJECT] },
    { body: 'null', messages: [OBJECT] },
  ])('$body, which is not a NewPlant, with error 422', async ({ body, messages }) => {
    const message = await refuse(422, body);

    expect(message.slice(0, -1).split('; ').sort()).toEqual(messages);
  });

  it.each([
    { what: 'no bytes', body: '', message: /no body/ },
    { what: 'white space', body: ' \n', message: /not JSON/ },
    { what: 'two objects', body: '{"id":1,"name":"a"}{}', message: /not JSON/ },
    { what: 'a byte order mark at the end', body: '{"id":1,"name":"a"}\ufeff', message: /not JSON/ },
    { what: 'the name twice', body: '{"name":"a","id":1,"n\\u0061me":"b"}', message: /name is given twice/ },
    { what: 'Latin-1', body: Buffer.from('{"id":1,"name":"Kalanchoë"}', 'latin1'), message: /UTF-8/ },
  ])('$what with error 400', async ({ body, message }) => {
    expect(await refuse(400, body)).toMatch(message);
  });

  it.each([
    { 'Content-Type': 'application/jsonp' },
    { 'Content-Type': 'application/json, application/json' },
    { 'Content-Type': '' },
    { 'Content-Encoding': 'gzip' },
  ])('a plant with the header %j with error 415', async (header) => {
    await refuse(415, '{"id":1,"name":"Monstera"}', header);
  });

  it('a body of more than 1 MiB with error 413', async () => {
    expect(await refuse(413, ' '.repeat(1_048_577))).toBe('The body is too large: at most 1048576 bytes are accepted.');
  });
});
