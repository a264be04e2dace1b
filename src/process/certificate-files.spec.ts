import { isSameCertificate } from './certificate-files.js';

describe('isSameCertificate', () => {
  const pair = { cert: Buffer.from('certificate'), key: Buffer.from('key'), minVersion: 'TLSv1.2' } as const;

  it.each([
    ['the same files', { ...pair, cert: Buffer.from('certificate'), key: Buffer.from('key') }, true],
    // As after `certbot --reuse-key`.
    ['a new certificate for the same key', { ...pair, cert: Buffer.from('renewed') }, false],
    ['another key', { ...pair, key: Buffer.from('another') }, false],
  ])('tells %s from the pair in use', (_what, read, isSame) => {
    expect(isSameCertificate(read, pair)).toBe(isSame);
  });
});
