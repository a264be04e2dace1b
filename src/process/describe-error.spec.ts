import { badUsage, OperatorError } from '../operator-error.js';
import { DATABASE_URL_RULE } from '../storage/database-url.js';
import { RepositoryUnavailableError } from '../storage/plant-repository.js';
import { describeError } from './describe-error.js';

/** Returns an error of the system. */
function systemError(code: string): Error {
  return Object.assign(new Error(`listen ${code}`), { code, syscall: 'listen' });
}

describe('describeError', () => {
  it('returns the message and the status of an error for the operator', () => {
    expect(describeError(badUsage('no'))).toEqual({ text: 'no', status: 2 });
    expect(describeError(new OperatorError('no'))).toEqual({ text: 'no', status: 1 });
  });

  it.each([
    ['a store that is not available', new RepositoryUnavailableError('no store'), 'no store'],
    ['the system', systemError('ENOENT'), 'listen ENOENT'],
  ])('returns the message alone of an error of %s, with status 1', (_what, error, text) => {
    expect(describeError(error)).toEqual({ text, status: 1 });
  });

  it('returns the stack of a defect, with status 1', () => {
    const { text, status } = describeError(new TypeError('a defect'));

    expect(text).toMatch(/^TypeError: a defect\n +at /);
    expect(status).toBe(1);
  });

  it.each([
    new OperatorError('no postgres://user:secret@db/plants'),
    new Error('no postgres://user:secret@db/plants'),
    new RepositoryUnavailableError('no postgres://user:secret@db/plants'),
  ])('returns no password: %s', (error) => {
    const { text } = describeError(error);

    expect(text).toContain('no postgres://db/plants');
    expect(text).not.toContain('secret');
  });

  it('keeps the user in the example of a message', () => {
    const { text } = describeError(badUsage(`DATABASE_URL must be ${DATABASE_URL_RULE}`));

    expect(text).toMatch(/ for example \S+ or postgres:\/\/user@localhost\/plants$/);
  });
});
