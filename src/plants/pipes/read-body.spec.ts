import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
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

    await expect(readBody(request, 7, 100, (bytes) => charged.push(bytes) === 0)).rejects.toMatchObject({ error: 503 });
    expect(charged).toEqual([7]);
  });

  it('refuses a body for which there is no room', async () => {
    const request = new IncomingMessage(new Socket());
    const body = readBody(request, undefined, 100_000, () => false);
    request.push('a');

    await expect(body).rejects.toMatchObject({ error: 503 });
  });

  it('keeps nothing of a body for which there is no more room, although its connection goes on', async () => {
    const before = arrayBuffers();
    const request = new IncomingMessage(new Socket());
    const charges = [true, false];
    const body = readBody(request, undefined, 100_000_000, () => charges.shift() ?? false);
    request.push(Buffer.alloc(20_000_000));
    request.push(Buffer.alloc(30_000_000));

    await expect(body).rejects.toMatchObject({ error: 503 });
    // V8 frees a buffer in the background after it was collected.
    await until('nothing refers to the buffer', () => arrayBuffers() - before < 10_000_000);
    expect(request.destroyed).toBe(false);
  });

  it('reserves no more memory than twice the length of a body that arrives in parts, nor than its declared length', async () => {
    for (const [length, most] of [
      [undefined, 20_000],
      [12_000, 12_000],
    ] as const) {
      const request = new IncomingMessage(new Socket());
      let charged = 0;
      const body = readBody(request, length, 100_000, (bytes) => (charged += bytes) <= most);
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
    await expect(readBody(request, 1, 100, () => true)).rejects.toThrow(
      new ContractException(400, 'The connection was closed before the body was complete.'),
    );
  });
});
