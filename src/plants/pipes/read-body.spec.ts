import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { until } from '../../../test/support/until.js';
import { ContractException } from '../../contract/contract.exception.js';
import { bodyTooLarge, readBody } from './read-body.js';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** Returns the bytes of all buffers that something refers to. */
function arrayBuffers(): number {
  collectGarbage();
  return process.memoryUsage().arrayBuffers;
}

describe('readBody', () => {
  it('reserves memory for a body that has arrived already', async () => {
    const request = new IncomingMessage(new Socket());
    request.push('seven b');
    request.push(null);
    request.complete = true;
    const charged: number[] = [];

    await expect(readBody(request, 7, (bytes) => charged.push(bytes) === 0)).rejects.toMatchObject({ error: 503 });
    expect(charged).toEqual([7]);
  });

  it('refuses a body for which there is no room', async () => {
    const request = new IncomingMessage(new Socket());
    const body = readBody(request, 100_000, () => false);
    request.push('a');

    await expect(body).rejects.toMatchObject({ error: 503 });
  });

  it('keeps nothing of a body for which there is no more room, although its connection goes on', async () => {
    const before = arrayBuffers();
    const request = new IncomingMessage(new Socket());
    const charges = [true, false];
    const body = readBody(request, 100_000_000, () => charges.shift() ?? false);
    request.push(Buffer.alloc(20_000_000));
    request.push(Buffer.alloc(30_000_000));

    await expect(body).rejects.toMatchObject({ error: 503 });
    // V8 frees a buffer in the background after it was collected.
    await until('nothing refers to the buffer', () => arrayBuffers() - before < 10_000_000);
    expect(request.destroyed).toBe(false);
  });

  it('reserves no more memory than twice the length of a body that arrives in parts, nor than its declared length', async () => {
    for (const [maxLength, most] of [
      [100_000, 20_000],
      [12_000, 12_000],
    ] as const) {
      const request = new IncomingMessage(new Socket());
      let charged = 0;
      const body = readBody(request, maxLength, (bytes) => (charged += bytes) <= most);
      for (let count = 0; count < 1_000; count += 1) request.push('ten bytes.');
      request.push(null);

      expect(await body).toHaveLength(10_000);
      expect(charged).toBeGreaterThanOrEqual(10_000);
    }
  });
});

describe('The refusal of a body', () => {
  it('tells what is wrong with it', async () => {
    expect(bodyTooLarge(17).getResponse()).toEqual({
      error: 413,
      message: 'The body is too large: at most 17 bytes are accepted.',
    });
    const request = new IncomingMessage(new Socket());
    request.destroy();
    // `close` has been emitted then.
    await setImmediate();
    await expect(readBody(request, 1, () => true)).rejects.toThrow(
      new ContractException(400, 'The client has disconnected.'),
    );
  });
});

describe('A body', () => {
  const refusal = new ContractException(408);

  it('that was refused before it is read is refused for the same reason', async () => {
    const request = Object.assign(new IncomingMessage(new Socket()), {
      beginBody: (refuse: (reason: ContractException) => void) => refuse(refusal),
    });

    await expect(readBody(request, 1, () => true)).rejects.toBe(refusal);
    expect(request.readableFlowing).toBe(true);
  });

  it('that is refused while it is read is refused for the same reason', async () => {
    const refusals: ((reason: ContractException) => void)[] = [];
    const request = Object.assign(new IncomingMessage(new Socket()), {
      beginBody: (refuse: (reason: ContractException) => void) => refusals.push(refuse),
    });
    const reading = readBody(request, 2, () => true);
    request.push('{');
    await setImmediate();
    refusals[0]?.(refusal);

    await expect(reading).rejects.toBe(refusal);
    expect(request.readableFlowing).toBe(true);
  });

  it('of a client that disconnects while it is read is refused as incomplete', async () => {
    const request = new IncomingMessage(new Socket());
    const reading = readBody(request, 2, () => true);
    request.destroy();

    await expect(reading).rejects.toMatchObject({ error: 400 });
  });
});
