import { isHttpsOrLoopback, isLoopbackHost } from './loopback-host.js';

describe('A host that only this machine reaches', () => {
  it.each(['localhost', '127.0.0.1', '127.1.2.3', '::1', '[::1]'])('may be %s', (host) => {
    expect(isLoopbackHost(host)).toBe(true);
    expect(isHttpsOrLoopback(new URL(`http://${host === '::1' ? '[::1]' : host}:8080/keys`))).toBe(true);
  });

  it.each(['127.0.0.1.example.com', 'localhost.example.com', 'my-localhost', '0.0.0.0', '128.0.0.1', '[::2]'])(
    'is not %s, whose URL must be https',
    (host) => {
      expect(isLoopbackHost(host)).toBe(false);
      expect(isHttpsOrLoopback(new URL(`http://${host}`))).toBe(false);
      expect(isHttpsOrLoopback(new URL(`https://${host}`))).toBe(true);
    },
  );

  it('needs http or https in its URL', () => {
    expect(isHttpsOrLoopback(new URL('ftp://localhost/keys'))).toBe(false);
  });
});
