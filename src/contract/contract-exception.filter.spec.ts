import { jest } from '@jest/globals';
import { type ArgumentsHost, BadGatewayException, ForbiddenException, HttpException, Logger } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { ContractExceptionFilter } from './contract-exception.filter.js';
import { ContractException } from './contract.exception.js';
import { ERROR_TABLE } from './error-table.js';

/** Returns the answer to a request where this is thrown, and what the log has. */
function answerTo(thrown: unknown, { isSent = false, id = 'r1' }: { isSent?: boolean; id?: unknown } = {}) {
  const errors: unknown[][] = [];
  const log = jest.spyOn(Logger.prototype, 'error').mockImplementation((...line) => void errors.push(line));
  const headers: Record<string, string> = {};
  const replies: unknown[] = [];
  const httpAdapter = {
    isHeadersSent: () => isSent,
    setHeader: (_response: unknown, name: string, value: string) => void (headers[name] = value),
    reply: (_response: unknown, body: unknown, status: number) => void replies.push({ status, body }),
  };
  const adapterHost = new HttpAdapterHost();
  Object.defineProperty(adapterHost, 'httpAdapter', { value: httpAdapter });
  const http = { getResponse: () => ({}), getRequest: () => ({ id }) };
  new ContractExceptionFilter(adapterHost).catch(thrown, { switchToHttp: () => http } as ArgumentsHost);
  log.mockRestore();
  return { replies, headers, errors };
}

describe('ContractExceptionFilter', () => {
  it.each([
    { thrown: new ContractException(409, 'Another one.'), error: 409, message: 'Another one.' },
    { thrown: new ForbiddenException('a secret'), error: 403, message: ERROR_TABLE[403].message },
    { thrown: new HttpException('a secret', 409), error: 400, message: 'The request was refused with status 409.' },
    { thrown: new HttpException('a secret', 418), error: 400, message: 'The request was refused with status 418.' },
    { thrown: new HttpException('a secret', 302), error: 400, message: 'The request was refused with status 302.' },
  ])('answers $thrown with error $error, and logs nothing', ({ thrown, error, message }) => {
    expect(answerTo(thrown)).toEqual({ replies: [{ status: 400, body: { error, message } }], headers: {}, errors: [] });
  });

  it('sets the headers of the exception', () => {
    expect(answerTo(new ContractException(405)).headers).toEqual({ Allow: 'POST' });
    expect(answerTo(new HttpException('later', 503))).toMatchObject({
      replies: [{ body: { error: 503 } }],
      headers: { 'Retry-After': '1' },
      errors: [],
    });
  });

  it.each([new BadGatewayException('a secret'), new HttpException('a secret', 500), new TypeError('a secret')])(
    'answers %s with error 500, and logs it with the id of the request',
    (thrown) => {
      const { replies, errors } = answerTo(thrown);

      expect(replies).toEqual([{ status: 400, body: { error: 500, message: ERROR_TABLE[500].message } }]);
      expect(errors).toEqual([['The request r1 failed: a secret', expect.stringContaining('a secret')]]);
    },
  );

  it('logs what is no Error without its members, all causes, and requests without an id', () => {
    expect(answerTo({ token: 'a secret' }, { id: 7 }).errors).toEqual([['The request without an id failed: [Object]']]);
    const cause = new Error('first', { cause: new Error('second') });
    expect(answerTo(new Error('last', { cause })).errors[0]?.[1]).toMatch(
      /^Error: last\n[^]+\nCaused by: Error: first\n[^]+\nCaused by: Error: second\n/,
    );
  });

  it('does not log a ContractException, whose code knows what to log', () => {
    expect(answerTo(new ContractException(500))).toMatchObject({ replies: [{ body: { error: 500 } }], errors: [] });
  });

  it('only logs where the answer has begun', () => {
    expect(answerTo(new Error('too late'), { isSent: true })).toMatchObject({
      replies: [],
      headers: {},
      errors: [[expect.stringContaining('too late'), expect.anything()]],
    });
  });
});
