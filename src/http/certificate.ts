import { X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import { OperatorError } from '../operator-error.js';
import { readRegularFile } from '../files/regular-file.js';

/** The TLS options of the public port: a certificate with its chain and its private key, both PEM. */
export interface Certificate {
  readonly cert: Buffer;
  readonly key: Buffer;
  readonly minVersion: 'TLSv1.2';
}

/**
 * Reads a certificate and its private key, and checks that they belong together.
 *
 * @throws {OperatorError} if one of them cannot be read or used, or if other users can read the key
 */
export function readCertificate(certFile: string, keyFile: string): Certificate {
  const certificate: Certificate = {
    cert: readRegularFile(certFile, 'public'),
    key: readRegularFile(keyFile, 'secret'),
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

/** Returns why clients refuse a certificate now: it has expired, or it is not valid yet. Undefined for a valid one. */
export function validityFault({ cert }: Certificate): string | undefined {
  const { validFrom, validTo } = new X509Certificate(cert);
  const [from, to] = [new Date(validFrom), new Date(validTo)];
  if (to < new Date()) return `the certificate has expired at ${to.toISOString()}: renew it`;
  return from > new Date() ? `the certificate is not valid before ${from.toISOString()}` : undefined;
}
