import pg from 'pg';
import { UnusableDatabaseError } from '../engine-errors.js';
import {
  describePostgresError,
  connectionAfter,
  mayPassAtStart,
  postgresFailure,
  postgresStartError,
} from './errors.js';

/** Returns an error of the server. */
function errorOf(code: string): Error {
  return Object.assign(new pg.DatabaseError('its reason', 0, 'error'), { code });
}

describe('An error of PostgreSQL', () => {
  it.each([
    ['a lost connection', '08006'],
    ['PgBouncer', '08P01'],
    ['a standby', '25006'],
    ['a transaction that was idle for too long', '25P03'],
    ['a serialization failure', '40001'],
    ['a deadlock', '40P01'],
    ['too many connections', '53300'],
    ['too little memory', '53200'],
    ['a lock', '55P03'],
    ['a statement that was canceled', '57014'],
    ['a restart', '57P01'],
    ['a crash', '57P02'],
    ['a server that starts', '57P03'],
    ['an unreachable node of a cluster', 'XX000'],
  ])('such as %s (%s) is retried', (_, code) => {
    expect(postgresFailure(errorOf(code))).toBe('transient');
    expect(mayPassAtStart(errorOf(code))).toBe(true);
  });

  it.each([
    ['a character that the encoding lacks', '22P05', /; create the database with ENCODING 'UTF8'$/],
    ['a wrong password', '28P01', /; check user and password in its URL, both percent-encoded$/],
    ['a missing database', '3D000', /^its reason$/],
    ['a missing schema', '3F000', /; create a schema of search_path/],
    ['a missing privilege', '42501', /; this user needs CREATE on the schema/],
    ['a missing column', '42703', /; if another program made its table plants, create a schema/],
    ['a missing table', '42P01', /^its reason$/],
    ['a missing primary key', '42P10', /; if another program made its table plants, create a schema/],
    ['a full disk', '53100', /^its reason$/],
    ['a database without connections', '55000', /^its reason$/],
    ['a disk that fails', '58030', /^its reason$/],
    ['damage', 'XX001', /^its reason$/],
    ['a damaged index', 'XX002', /^its reason$/],
  ])('such as %s (%s) is left to the operator', (_, code, words) => {
    expect(postgresFailure(errorOf(code))).toBe('unavailable');
    expect(mayPassAtStart(errorOf(code))).toBe(false);
    expect(describePostgresError(errorOf(code))).toMatch(words);
  });

  it.each(['22001', '23502', '23505', '42804', '42601'])('such as %s is a defect of a batch', (code) => {
    expect(postgresFailure(errorOf(code))).toBeUndefined();
  });

  it.each(['23505', '42P07', '42710'])('such as %s says at the start that another instance was faster', (code) => {
    expect(mayPassAtStart(errorOf(code))).toBe(true);
  });

  it('of a certificate is left to the operator, with what to check', () => {
    for (const code of [
      'SELF_SIGNED_CERT_IN_CHAIN',
      'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
      'ERR_TLS_CERT_ALTNAME_INVALID',
    ]) {
      const error = Object.assign(new Error('its reason'), { code });
      expect([code, postgresFailure(error)]).toEqual([code, 'unavailable']);
      expect(describePostgresError(error)).toMatch(/; check sslmode and sslrootcert in its URL/);
    }
    const withoutTls = new Error('The server does not support SSL connections');
    expect(postgresFailure(withoutTls)).toBe('unavailable');
    expect(describePostgresError(withoutTls)).toMatch(/; check sslmode and sslrootcert in its URL/);
  });

  it('that comes from the connection is retried, and a defect of the program is not', () => {
    const refused = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
    expect(postgresFailure(refused)).toBe('transient');
    expect(describePostgresError(refused)).toBe('connect ECONNREFUSED; check its server and its URL');
    // Of a name with several addresses.
    const errors = [refused, new Error('connect EHOSTUNREACH')];
    const unreachable = Object.assign(new AggregateError(errors, ''), { code: 'ECONNREFUSED' });
    expect(postgresFailure(unreachable)).toBe('transient');
    expect(describePostgresError(unreachable)).toBe(
      'connect ECONNREFUSED; connect EHOSTUNREACH; check its server and its URL',
    );
    const ofProgram = [
      new Error('a'),
      new TypeError('a'),
      Object.assign(new Error('a'), { code: 'ERR_INVALID_ARG_TYPE' }),
    ];
    // A message counts only without a code.
    ofProgram.push(Object.assign(new Error('timeout expired'), { code: '42601' }));
    for (const defect of [...ofProgram, new UnusableDatabaseError('it is wrong')]) {
      expect(postgresFailure(defect)).toBeUndefined();
      expect(mayPassAtStart(defect)).toBe(false);
      expect(describePostgresError(defect)).toBe(defect.message);
    }
  });

  it.each([
    'timeout expired',
    'timeout exceeded when trying to connect',
    'Connection terminated',
    'Connection terminated unexpectedly',
    'Connection terminated due to connection timeout',
    'Client has encountered a connection error and is not queryable',
    'Client was closed and is not queryable',
    'Received unexpected commandComplete message from backend.',
  ])('that the driver reports by its message alone is retried: %s', (message) => {
    expect(postgresFailure(new Error(message))).toBe('transient');
    expect(connectionAfter(new Error(message))).toBe('closed');
  });

  it('leaves the connection idle if only the statement failed', () => {
    for (const code of ['40001', '40P01', '55P03', '57014', '0A000', '42883'])
      expect(connectionAfter(errorOf(code))).toBe('idle');
    for (const code of ['57P01', '08006', '25006', '53300', 'XX000'])
      expect(connectionAfter(errorOf(code))).toBe('closed');
  });

  it('is no answer if the driver has given up', () => {
    const unanswered = new Error('Query read timeout');
    expect(connectionAfter(unanswered)).toBe('unanswered');
    expect(postgresFailure(unanswered)).toBe('transient');
    expect(describePostgresError(unanswered)).toMatch(/; check its server, the network, and the synchronous standbys$/);
  });

  it('is reported with the name of the database', () => {
    const error = postgresStartError('postgres://localhost:5433/plants', errorOf('3D000'));

    expect(error.message).toBe('the database postgres://localhost:5433/plants cannot be used: its reason');
  });
});
