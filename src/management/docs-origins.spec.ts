import { docsOrigins } from './docs-origins.js';

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
