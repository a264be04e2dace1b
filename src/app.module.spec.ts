import { message, plant } from '../test/support/http-messages.js';
import { RawClient } from '../test/support/raw-client.js';
import { startService } from '../test/support/service.js';
import { until } from '../test/support/until.js';

describe('The application', () => {
  it('answers requests that arrive while it closes, and ends their connections', async () => {
    // Leaves room for others beside the request of 48 MB.
    const service = await startService({ bodyLimit: 64_000_000 });
    const [slow, other] = [await RawClient.connect(service.port), await RawClient.connect(service.port)];
    slow.socket.pause();
    // More than the operating system buffers for both sides.
    await slow.hand(message({ body: `{"id":1,"name":"${'n'.repeat(16_000_000)}"}` }));
    await until('the plant is stored', async () => (await service.rows()).length === 1);
    const closing = service.close();

    let connection: string | undefined;
    while (connection !== 'close') {
      await other.send(message({ body: plant(2) }));
      const { statusLine, headers } = await other.answer();
      expect(statusLine).toBe('HTTP/1.1 200 OK');
      ({ connection } = headers);
    }
    await other.hangUp();
    slow.socket.resume();
    await slow.answer();
    await slow.hangUp();
    await closing;
  });
});
