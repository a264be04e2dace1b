import type { RawAnswer } from './raw-client.js';

export const CLOSE = { connection: 'close' };
export const KEEP_ALIVE = { connection: 'keep-alive' };

/** Expects a status, a body, the usual headers and these ones. */
function expectAnswer(
  answer: RawAnswer | undefined,
  status: string,
  headers: Record<string, unknown>,
  body: unknown,
): void {
  expect(answer?.statusLine).toBe(`HTTP/1.1 ${status}`);
  const {
    date,
    'content-length': length,
    'keep-alive': keepAlive,
    'x-request-id': requestId,
    connection,
    ...others
  } = answer?.headers ?? {};
  expect(date).toMatch(/GMT$/);
  expect(length).toMatch(/^\d+$/);
  expect(requestId).toMatch(/^[\da-f-]{36}$/);
  expect({ connection, ...others }).toEqual({
    connection: keepAlive === undefined ? 'close' : 'keep-alive',
    'content-type': 'application/json',
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
    ...headers,
  });
  if (body === undefined) expect(answer?.body).toBe('');
  else expect(JSON.parse(answer?.body ?? '')).toEqual(body);
}

/** Expects that the plant with this id was created. */
export function expectPlant(answer: RawAnswer | undefined, id: number, headers: Record<string, string> = {}): void {
  expectAnswer(answer, '200 OK', headers, { name: `Plant ${id}` });
}

/** Expects a refusal as the contract has it, with the headers of this error number. */
export function expectRefusal(
  answer: RawAnswer | undefined,
  error: number,
  headers: Record<string, string> = {},
  method = 'POST',
): void {
  const challenge: unknown = expect.stringMatching(/^Bearer realm="[^"]+"(, error="invalid_token")?$/);
  const headersOf: Record<number, Record<string, unknown>> = {
    401: { 'www-authenticate': challenge },
    403: { 'www-authenticate': expect.stringContaining('error="insufficient_scope"') as unknown },
    405: { allow: 'POST' },
    503: { 'retry-after': '1' },
  };
  const body = { error, message: expect.stringMatching(/^\S.*\.$/) as unknown };
  expectAnswer(answer, '400 Bad Request', { ...headersOf[error], ...headers }, method === 'HEAD' ? undefined : body);
}
