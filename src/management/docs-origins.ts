/**
 * Returns the origins of the docs page as browsers write them, its own address first: each name of the management
 * listener, with the addresses of loopback if it listens on all addresses.
 */
export function docsOrigins(host: string, port: number): readonly string[] {
  const own = host.includes(':') ? `[${host}]` : host;
  const loopback = /^(?:0\.0\.0\.0|::)$/.test(host) ? ['127.0.0.1', '[::1]'] : [];
  return [own, 'localhost', ...loopback].map((name) => new URL(`http://${name}:${port}`).origin);
}
