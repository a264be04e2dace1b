import { createPrivateKey, X509Certificate } from 'node:crypto';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import { Logger } from '@nestjs/common';
import type { Configuration } from '../config/configuration.js';
import { readRegularFile } from '../files/regular-file.js';
import { watchFiles } from '../files/watch-files.js';
import { namingVariable, OperatorError } from '../operator-error.js';

/** A certificate with its chain and its private key, both PEM, as options of TLS. */
interface Certificate extends SecureContextOptions {
  readonly cert: Buffer;
  readonly key: Buffer;
}

/**
 * Opens the certificate, if one is configured.
 *
 * @throws {OperatorError} if it cannot be used
 */
export function openCertificate({ tlsCertFile, tlsKeyFile }: Configuration): CertificateFiles | undefined {
  if (tlsCertFile === undefined || tlsKeyFile === undefined) return undefined;
  return new CertificateFiles(tlsCertFile, tlsKeyFile);
}

/** The certificate of the public port, and the files of TLS_CERT_FILE and TLS_KEY_FILE that it comes from. */
export class CertificateFiles {
  readonly #logger = new Logger('Certificate');
  #current: Certificate;
  /** Gives a new certificate to the server, once that listens. */
  #install: (certificate: SecureContextOptions) => void = () => undefined;

  /**
   * @throws {OperatorError} if a file cannot be read or used, if they do not belong together, or if other users can
   *   read the key. The dates are not looked at, so that a renewed certificate can replace an expired one while the
   *   service runs.
   */
  constructor(
    private readonly certFile: string,
    private readonly keyFile: string,
  ) {
    this.#current = this.#read();
  }

  /** The certificate in use. */
  get current(): SecureContextOptions {
    return this.#current;
  }

  /** When the certificate expires. */
  get expires(): Date {
    return new Date(new X509Certificate(this.#current.cert).validTo);
  }

  /** @throws {OperatorError} if clients refuse the certificate now, because it has expired or is not valid yet */
  assertValid(): void {
    const { validFrom, validTo } = new X509Certificate(this.#current.cert);
    const now = new Date();
    if (now >= new Date(validFrom) && now <= new Date(validTo)) return;
    throw new OperatorError(`TLS_CERT_FILE: the certificate is valid from ${validFrom} to ${validTo}: renew it`);
  }

  /** Reloads the files when they change, and passes each new certificate to `install`. */
  watch(install: (certificate: SecureContextOptions) => void): void {
    this.#install = install;
    watchFiles([this.certFile, this.keyFile], () => this.reload());
  }

  /** Reads the files again. If they cannot be used, it logs the reason and keeps the certificate. */
  reload(): void {
    try {
      const read = this.#read();
      if (read.cert.equals(this.#current.cert) && read.key.equals(this.#current.key)) return;
      this.#install(read);
      this.#current = read;
      this.#logger.log(`The certificate has changed: the new one is valid until ${this.expires.toISOString()}`);
    } catch (error) {
      this.#logger.error(`${(error as Error).message}; keeping the previous certificate`);
    }
  }

  #read(): Certificate {
    return namingVariable('TLS_CERT_FILE and TLS_KEY_FILE', () => {
      const cert = readRegularFile(this.certFile, 'public');
      const key = readRegularFile(this.keyFile, 'secret');
      const certificate: Certificate = { cert, key, minVersion: 'TLSv1.2' };
      if (isPair(certificate)) return certificate;
      throw new OperatorError(
        `${this.certFile} and ${this.keyFile} must be a certificate and its private key, both PEM`,
      );
    });
  }
}

function isPair(certificate: Certificate): boolean {
  try {
    createSecureContext(certificate);
    // OpenSSL accepts a certificate with a key of another type, such as RSA with EC, but no client could connect.
    return new X509Certificate(certificate.cert).checkPrivateKey(createPrivateKey(certificate.key));
  } catch {
    return false;
  }
}
