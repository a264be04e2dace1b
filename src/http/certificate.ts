import { X509Certificate } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { OperatorError } from '../contract/operator-error.js';

/** Permissions that the key must not have. A group may read it, as with Debian's ssl-cert and Kubernetes' fsGroup. */
const FORBIDDEN_KEY_MODE = process.platform === 'win32' ? 0 : 0o007;

/** The TLS options of the public port: a certificate with its chain and its private key, both PEM. */
export interface Certificate {
  readonly cert: Buffer;
  readonly key: Buffer;
  readonly minVersion: 'TLSv1.2';
}

/**
 * Reads a certificate and its private key, and checks that they belong together.
 *
 * @throws {OperatorError} if one of them cannot be read or used, or if the key is world-readable
 */
export function readCertificate(certFile: string, keyFile: string): Certificate {
  const certificate: Certificate = {
    cert: read(certFile),
    key: read(keyFile, FORBIDDEN_KEY_MODE),
    minVersion: 'TLSv1.2',
  };
  try {
    createSecureContext(certificate);
  } catch (cause) {
    throw new OperatorError(`${certFile} and ${keyFile} must be a certificate and its private key, both PEM`, {
      cause,
    });
  }
  return certificate;
}

/** Returns whether both are the same pair of certificate and key. */
export function isSameCertificate(one: Certificate, other: Certificate): boolean {
  return one.cert.equals(other.cert) && one.key.equals(other.key);
}

/** Returns the instant at which a certificate expires. */
export function certificateExpiry({ cert }: Certificate): Date {
  return new Date(new X509Certificate(cert).validTo);
}

/** Reads a regular file: a pipe would wait for a writer. */
function read(file: string, forbiddenMode = 0): Buffer {
  let mode: number;
  let bytes: Buffer;
  try {
    const stats = statSync(file);
    if (!stats.isFile()) throw new Error('not a regular file');
    mode = stats.mode;
    bytes = readFileSync(file);
  } catch (cause) {
    throw new OperatorError(`${file} cannot be read: it must be a regular file that this user may read`, { cause });
  }
  if ((mode & forbiddenMode) === 0) return bytes;
  throw new OperatorError(`${file} is world-readable or world-writable: chmod o= ${file}`);
}
