import { generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readPem } from '../../test/support/certificates.js';
import { ServiceDirectory } from '../../test/support/service-directory.js';
import { CertificateFiles } from './certificate-files.js';

const directory = ServiceDirectory.ofEachTest();

describe('A certificate', () => {
  const readWith = (key: string): CertificateFiles => {
    const files = ['tls.crt', 'tls.key'].map((name) => join(directory.path, name)) as [string, string];
    writeFileSync(files[0], readPem('first.crt'));
    writeFileSync(files[1], key, { mode: 0o600 });
    return new CertificateFiles(...files);
  };

  it('is read with its own key', () => {
    expect(readWith(readPem('first.key')).expires).toBeInstanceOf(Date);
  });

  it.each(['rsa', 'ec', 'ed25519'] as const)('is refused with a key of the type %s that is not its own', (type) => {
    const { privateKey } =
      type === 'rsa'
        ? generateKeyPairSync(type, { modulusLength: 2_048 })
        : type === 'ec'
          ? generateKeyPairSync(type, { namedCurve: 'P-256' })
          : generateKeyPairSync(type);

    expect(() => readWith(privateKey.export({ type: 'pkcs8', format: 'pem' }).toString())).toThrow(
      /must be a certificate and its private key, both PEM$/,
    );
  });
});
