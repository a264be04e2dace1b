import { createPrivateKey, X509Certificate } from 'node:crypto';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import { Logger } from '@nestjs/common';
import { namingVariable, OperatorError } from '../operator-error.js';
import { readRegularFile } from '../files/regular-file.js';
import { watchFiles } from '../files/watch-files.js';

/** A certificate with its chain and its private key, both PEM, as options of TLS. */
interface Certificate extends SecureContextOptions {
  readonly cert: Buffer;
  readonly key: Buffer;
}

/** The certificate of the public port, and the files of TLS_CERT_FILE and TLS_KEY_FILE that it comes from. */
export class CertificateFiles {
  readonly #logger = new Logger('Certificate');
  #inUse: Certificate;
  /** The server that gets a new certificate, once it listens. */
  #use: ((certificate: SecureContextOptions) => void) | undefined;

  /**
   * @throws {OperatorError} as `read`. An expired certificate is accepted, so that a renewed one can replace it while the
   *   service runs.
   */
  constructor(
    private readonly certFile: string,
    private readonly keyFile: string,
  ) {
    this.#inUse = this.read();
  }

  /** The certificate in use. */
  get current(): SecureContextOptions {
    return this.#inUse;
  }

  /** When the certificate expires. */
  get expires(): Date {
    return new Date(new X509Certificate(this.#inUse.cert).validTo);
  }

  /** @throws {OperatorError} if clients refuse the certificate now */
  assertValid(): void {
    const fault = validityFault(this.#inUse);
    if (fault !== undefined) throw new OperatorError(`TLS_CERT_FILE: ${fault}`);
  }

  /**
   * Reads the files.
   *
   * @throws {OperatorError} if one of them cannot be read or used, if they do not belong together, or if other users can read
   *   the key
   */
  read(): Certificate {
    return namingVariable('TLS_CERT_FILE and TLS_KEY_FILE', () => readCertificate(this.certFile, this.keyFile));
  }

  /** Passes each new certificate to a server from now on. */
  watch(use: (certificate: SecureContextOptions) => void): void {
    this.#use = use;
    watchFiles([this.certFile, this.keyFile], () => this.reload());
  }

  /** Reads the files again. If they cannot be used, it logs the reason and keeps the certificate. */
  reload(): void {
    try {
      const read = this.read();
      if (isSameCertificate(read, this.#inUse)) return;
      const fault = validityFault(read);
      // If both certificates have a fault, the operator wants the new one.
      if (fault !== undefined && validityFault(this.#inUse) === undefined) throw new OperatorError(fault);
      this.#use?.(read);
      this.#inUse = read;
      this.#logger.log(`The certificate has changed: the new one is valid until ${this.expires.toISOString()}`);
    } catch (error) {
      this.#logger.error(`${(error as Error).message}; keeping the previous certificate`);
    }
  }
}

function readCertificate(certFile: string, keyFile: string): Certificate {
  const certificate: Certificate = {
    cert: readRegularFile(certFile, 'public'),
    key: readRegularFile(keyFile, 'secret'),
    minVersion: 'TLSv1.2',
  };
  try {
    createSecureContext(certificate);
    // OpenSSL accepts a certificate with a key of another type, such as RSA with EC, but no client could connect.
    const isOwnKey = new X509Certificate(certificate.cert).checkPrivateKey(createPrivateKey(certificate.key));
    if (isOwnKey) return certificate;
  } catch (cause) {
    throw notAPair(certFile, keyFile, cause);
  }
  throw notAPair(certFile, keyFile);
}

function notAPair(certFile: string, keyFile: string, cause?: unknown): OperatorError {
  return new OperatorError(`${certFile} and ${keyFile} must be a certificate and its private key, both PEM`, { cause });
}

/** Returns whether both have the same certificate and the same key. */
export function isSameCertificate(one: Certificate, other: Certificate): boolean {
  return one.cert.equals(other.cert) && one.key.equals(other.key);
}

/** Returns why clients refuse a certificate now: it has expired, or it is not valid yet. Undefined for a valid one. */
function validityFault({ cert }: Certificate): string | undefined {
  const { validFrom, validTo } = new X509Certificate(cert);
  const [from, to] = [new Date(validFrom), new Date(validTo)];
  if (to < new Date()) return `the certificate has expired at ${to.toISOString()}: renew it`;
  return from > new Date() ? `the certificate is not valid before ${from.toISOString()}` : undefined;
}
