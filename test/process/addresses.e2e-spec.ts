import { occupyPort } from '../support/ports.js';
import { ServiceDirectory } from '../support/service-directory.js';

describe('A service that cannot listen', () => {
  const directory = ServiceDirectory.ofEachTest();

  it.each([
    ['HOST and PORT', 'HOST'],
    ['MANAGEMENT_HOST and MANAGEMENT_PORT', 'MANAGEMENT_HOST'],
  ])('names %s and the likely cause', async (variables, host) => {
    const port = host.replace('HOST', 'PORT');
    const taken = await occupyPort();
    const causes: [Record<string, string>, RegExp][] = [
      [{ [port]: `${taken.port}` }, /\(EADDRINUSE\): is the service already running\? .+\n$/],
      [{ [host]: '192.0.2.1', [port]: '0' }, /\(EADDRNOTAVAIL\): set an address of this machine, .+\n$/],
      [{ [host]: 'plants.invalid', [port]: '0' }, /\((?:ENOTFOUND|EAI_AGAIN)\): set an address of this machine, .+\n$/],
    ];
    for (const [values, cause] of causes) {
      const { status, complaint } = await directory.failedStart(values);

      expect(complaint).toMatch(cause);
      expect(complaint).toMatch(new RegExp(`^plant-store: ${variables}: cannot listen on [^\n]+\n$`));
      expect(status).toBe(1);
    }
    taken.free();
  });
});
