import { OperatorError } from '../operator-error.js';
import { errorMessage, startError, unavailableError } from './errors.js';

describe('The error of a database', () => {
  it.each([
    ['database or disk is full', ''],
    ['database is locked', '; stop the other process that uses it'],
    ['unable to open database file', '; this user must be able to write the file and its directory'],
    [
      'permission denied for schema public',
      '; make this user the owner of the database, or GRANT it CREATE on the schema',
    ],
    [
      'password authentication failed for user "plants"',
      '; correct the password in its URL, which is read only at the start',
    ],
    ['The server does not support SSL connections', '; check sslmode and sslrootcert in its URL'],
  ])('says %j, and adds advice only where that misleads: %j', (message, advice) => {
    const cause = new Error(message);
    const started = startError('sqlite:plants.db', cause);

    expect(started.message).toBe(`the database sqlite:plants.db cannot be used: ${message}${advice}`);
    expect(startError('sqlite:other.db', started)).toBe(started);
    expect(unavailableError(cause).message).toBe(`the database cannot be used: ${message}${advice}`);
  });

  it('is one line, with the reason for each address of a server', () => {
    const reasons = ['connect ECONNREFUSED ::1:1', 'connect ECONNREFUSED\n 127.0.0.1:1'].map((text) => new Error(text));

    expect(errorMessage(new AggregateError(reasons, ''))).toBe(
      'connect ECONNREFUSED ::1:1; connect ECONNREFUSED 127.0.0.1:1',
    );
    expect(errorMessage(new OperatorError('one\n\ntwo'))).toBe('one two');
  });
});
