import { X509Certificate } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { createSecureContext } from 'node:tls';

/** A certificate that cannot be used; the message is one line for the operator. */
export class CertificateError extends Error {
  override readonly name = 'CertificateError';
}

/** What TLS takes of us: a certificate with its chain, and the key to it, as PEM. */
export interface Certificate {
  readonly cert: Buffer;
  readonly key: Buffer;
  readonly minVersion: 'TLSv1.2';
}

/**
 * Reads a certificate and its key, and sees that they belong together.
 *
 * @throws {CertificateError} where one cannot be read or used, or everybody may read the key
 */
export function readCertificate(certFile: string, keyFile: string): Certificate {
  const certificate: Certificate = { cert: read(certFile), key: read(keyFile), minVersion: 'TLSv1.2' };
  // A group may be meant to read it, as those of Debian's ssl-cert and of Kubernetes are. Windows has no such permissions.
  if (process.platform !== 'win32' && (statSync(keyFile).mode & 0o007) !== 0) {
    throw new CertificateError(`${keyFile} may be read or written by everybody: chmod o= ${keyFile}`);
  }
  try {
    createSecureContext(certificate);
  } catch (cause) {
    throw new CertificateError(`${certFile} and ${keyFile} must be a certificate and the key to it, as PEM`, { cause });
  }
  return certificate;
}

/** The instant after which nobody takes it any more. */
export function expiryOf({ cert }: Certificate): Date {
  return new Date(new X509Certificate(cert).validTo);
}

function read(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (cause) {
    throw new CertificateError(`${file} cannot be read: it must be a file that this user may read`, { cause });
  }
}
