import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { ContractException } from '../../contract/contract.exception.js';
import { readBody } from './read-body.js';

describe('A body', () => {
  it('that has failed before it is read is refused for the same reason', async () => {
    const request = new IncomingMessage(new Socket());
    const refusal = new ContractException(408);
    request.destroy(refusal);
    await setImmediate();

    await expect(readBody(request, 1, 1, () => true)).rejects.toBe(refusal);
  });

  it('of a client that has disconnected is refused as incomplete', async () => {
    const request = new IncomingMessage(new Socket());
    request.destroy();
    await setImmediate();

    await expect(readBody(request, 1, 1, () => true)).rejects.toMatchObject({ error: 400 });
  });
});
