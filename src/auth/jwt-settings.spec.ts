import { isLoopbackHost } from './jwt-settings.js';

describe('isLoopbackHost', () => {
  it.each(['localhost', '127.0.0.1', '127.1.2.3', '::1', '[::1]'])('accepts %s', (host) => {
    expect(isLoopbackHost(host)).toBe(true);
  });

  it.each(['127.example.com', '127.0.0.1.example.com', '0.0.0.0', '::', '192.0.2.1'])('refuses %s', (host) => {
    expect(isLoopbackHost(host)).toBe(false);
  });
});
