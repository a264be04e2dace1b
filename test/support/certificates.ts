import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ServiceDirectory, Variables } from './service-directory.js';

type Pair = 'first' | 'second' | 'expired' | 'future';

/** Returns a self-signed certificate or its key. */
export function readPem(name: `${Pair}.${'crt' | 'key'}`): string {
  return readFileSync(join(import.meta.dirname, 'certificates', name), 'utf8');
}

/** Writes a certificate and its key into a directory, and returns the variables that name them. */
export function installCertificate(directory: ServiceDirectory, pair: Pair = 'first'): Variables {
  directory.write('tls.crt', readPem(`${pair}.crt`));
  directory.write('tls.key', readPem(`${pair}.key`));
  return { TLS_CERT_FILE: 'tls.crt', TLS_KEY_FILE: 'tls.key' };
}
