import { ContractException } from './contract.exception.js';
import { ERROR_TABLE, type ErrorNumber, isErrorNumber } from './error-table.js';

const HEADERS: Partial<Record<ErrorNumber, object>> = { 405: { Allow: 'POST' }, 503: { 'Retry-After': '1' } };

describe('A ContractException', () => {
  it.each(Object.keys(ERROR_TABLE).map(Number) as ErrorNumber[])(
    '%i has status 400 and the text of the table',
    (error) => {
      const exception = new ContractException(error);

      expect(exception.getStatus()).toBe(400);
      expect(exception.getResponse()).toEqual({ error, message: ERROR_TABLE[error].message });
      expect(exception.headers).toEqual(HEADERS[error] ?? {});
      expect(isErrorNumber(error)).toBe(true);
    },
  );

  it('may have a text of its own', () => {
    const exception = new ContractException(503, 'Later.');

    expect(exception.getResponse()).toEqual({ error: 503, message: 'Later.' });
    expect(exception.headers).toEqual({ 'Retry-After': '1' });
  });
});

describe('The error table', () => {
  it('has no other numbers', () => {
    for (const number of [0, 200, 399, 402, 406, 411, 412, 418, 501, 502, 504])
      expect(isErrorNumber(number)).toBe(false);
  });
});
