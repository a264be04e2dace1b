import { baseUrlOf, docsOrigins, managementUrlOf } from './addresses.js';

describe('baseUrlOf', () => {
  it.each([
    ['127.0.0.1', 'http://127.0.0.1:3000'],
    ['192.0.2.10', 'http://192.0.2.10:3000'],
    ['0.0.0.0', 'http://127.0.0.1:3000'],
    ['::', 'http://[::1]:3000'],
    ['2001:db8::', 'http://[2001:db8::]:3000'],
  ])('names for the address %s the base URL %s', (address, baseUrl) => {
    expect(baseUrlOf({ basePath: '', tlsCertFile: undefined }, { address, port: 3000 })).toBe(baseUrl);
  });

  it('has the scheme https with a certificate, and the base path', () => {
    const configuration = { basePath: '/v1', tlsCertFile: 'tls.crt' };

    expect(baseUrlOf(configuration, { address: '::', port: 443 })).toBe('https://[::1]:443/v1');
  });
});

describe('managementUrlOf', () => {
  it.each([
    ['127.0.0.1', 'http://127.0.0.1:3001'],
    ['0.0.0.0', 'http://127.0.0.1:3001'],
    ['::', 'http://[::1]:3001'],
    ['plants.example', 'http://plants.example:3001'],
  ])('names for the host %s the URL %s, which a browser can open', (host, url) => {
    expect(managementUrlOf(host, 3001)).toBe(url);
  });
});

describe('docsOrigins', () => {
  it.each([
    ['127.0.0.1', 3001, ['http://127.0.0.1:3001', 'http://localhost:3001']],
    ['::1', 3001, ['http://[::1]:3001', 'http://localhost:3001']],
    ['0.0.0.0', 3001, ['0.0.0.0', 'localhost', '127.0.0.1', '[::1]'].map((name) => `http://${name}:3001`)],
    // Browsers leave out the default port of a scheme.
    ['Plants.Example', 80, ['http://plants.example', 'http://localhost']],
  ])('writes the origins of %s, port %i, as browsers do', (host, port, origins) => {
    expect(docsOrigins(host, port)).toEqual(origins);
  });
});
