import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { ContractException } from '../../contract/contract.exception.js';
import { readBody } from './read-body.js';

describe('A body', () => {
  const refusal = new ContractException(408);

  it('that was refused before it is read is refused for the same reason', async () => {
    const request = Object.assign(new IncomingMessage(new Socket()), { refusal });

    await expect(readBody(request, 1, () => true)).rejects.toBe(refusal);
  });

  it('that is refused while it is read is refused for the same reason', async () => {
    const request = new IncomingMessage(new Socket());
    const reading = readBody(request, 2, () => true);
    request.push('{');
    await setImmediate();
    request.emit('refused', refusal);

    await expect(reading).rejects.toBe(refusal);
    expect(request.readableFlowing).toBe(true);
  });

  it('of a client that disconnects while it is read is refused as incomplete', async () => {
    const request = new IncomingMessage(new Socket());
    const reading = readBody(request, 2, () => true);
    request.destroy();

    await expect(reading).rejects.toMatchObject({ error: 400 });
  });

  it('of a client that has disconnected is refused as incomplete', async () => {
    const request = new IncomingMessage(new Socket());
    request.destroy();
    await setImmediate();

    await expect(readBody(request, 1, () => true)).rejects.toMatchObject({ error: 400 });
  });
});
