import { OperatorError } from '../contract/operator-error.js';
import type { Engine } from './open-repository.js';

/** The modes of libpq without `allow` and `prefer`, which let an attacker on the network disable TLS. */
const SSL_MODES = ['disable', 'require', 'verify-ca', 'verify-full'];

/**
 * A URL with at most one @, which ends user and password (RFC 3986 §3.2.1). In a password, an @ is ambiguous, and one of
 * / ? # would end the host: the client would look for another server, and name a part of the password as its host.
 */
const POSTGRES_URL = /^postgres(?:ql)?:\/\/(?:[^/?#@]*@)?[^#@]*$/;

export const POSTGRES: Engine = {
  form: `postgres://user:password@host:5432/plants, where user and password are percent-encoded and sslmode is one of ${SSL_MODES.join(', ')}; verify-ca needs sslrootcert`,
  accepts: isPostgresUrl,
  nameOf(url) {
    const { protocol, host, pathname } = new URL(url);
    return `${protocol}//${host}${pathname}`;
  },
  load: () => import('./postgres-repository.js').catch(refuseMissingPackage),
};

function isPostgresUrl(url: string): boolean {
  if (!POSTGRES_URL.test(url) || !URL.canParse(url)) return false;
  const { username, password, hostname, pathname, searchParams } = new URL(url);
  const isDecodable = [username, password, hostname, pathname].every(canDecode);
  const mode = searchParams.get('sslmode') ?? 'disable';
  return isDecodable && SSL_MODES.includes(mode) && (mode !== 'verify-ca' || searchParams.has('sslrootcert'));
}

function canDecode(text: string): boolean {
  try {
    // Uses the result, without which Rolldown 1.2 removes the call.
    return decodeURIComponent(text).length <= text.length;
  } catch {
    return false;
  }
}

/** A host installs the package `pg` only if it uses PostgreSQL. */
function refuseMissingPackage(error: unknown): never {
  if (!(error instanceof Error && error.message.includes("'pg'"))) throw error;
  throw new OperatorError('the package pg is not installed: npm install pg', { cause: error });
}
