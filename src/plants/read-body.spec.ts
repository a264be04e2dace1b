import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { until } from '../../test/support/until.js';
import { ContractException } from '../contract/contract.exception.js';
import { readBody } from './read-body.js';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** Returns the bytes of all buffers that something refers to. */
function arrayBuffers(): number {
  collectGarbage();
  return process.memoryUsage().arrayBuffers;
}

const LIMIT = 100_000_000;

/** Begins to read the body of a new request. */
function begin({ length, limit = LIMIT, room = Infinity }: { length?: number; limit?: number; room?: number } = {}) {
  const request = new IncomingMessage(new Socket());
  const response = new ServerResponse(request);
  const counted: number[] = [];
  const count = (bytes: number): void => {
    if (counted.reduce((sum, next) => sum + next, bytes) > room) throw new ContractException(503);
    counted.push(bytes);
  };
  return { request, response, counted, body: readBody(request, response, { length, limit, count }) };
}

describe('readBody', () => {
  it('counts the declared length before the body arrives', async () => {
    const { request, counted, body } = begin({ length: 5 });
    expect(counted).toEqual([5]);
    for (const chunk of ['sev', 'en', null]) request.push(chunk);

    expect(Buffer.from(await body).toString()).toBe('seven');
    expect(counted).toEqual([5]);
    await expect(begin({ length: 5, room: 4 }).body).rejects.toMatchObject({ error: 503 });
  });

  it('counts what has arrived of a body of unknown length, and refuses what has no room', async () => {
    const { request, counted, body } = begin({ room: 9_000 });
    for (let count = 0; count < 1_000; count += 1) request.push('ten bytes.');

    await expect(body).rejects.toMatchObject({ error: 503 });
    expect(counted).toEqual(Array(900).fill(10));
  });

  it('copies many chunks to one buffer', async () => {
    const { request, body } = begin();
    const texts = Array.from({ length: 5_000 }, (_, index) => `chunk ${index}. `);
    for (const text of [...texts, null]) request.push(text);

    expect(Buffer.from(await body).toString()).toBe(texts.join(''));
  });

  it('refuses a body of unknown length beyond the limit with error 413, and discards the rest', async () => {
    const { request, body } = begin({ limit: 5 });
    request.push('too long');

    await expect(body).rejects.toThrow(
      new ContractException(413, 'The body is too large: at most 5 bytes are accepted.'),
    );
    expect(request.readableFlowing).toBe(true);
  });

  it('keeps nothing of a refused body, although its connection goes on', async () => {
    const before = arrayBuffers();
    const { request, body } = begin({ room: 40_000_000 });
    request.push(Buffer.alloc(20_000_000));
    request.push(Buffer.alloc(30_000_000));

    await expect(body).rejects.toMatchObject({ error: 503 });
    // V8 frees a buffer in the background after it was collected.
    await until('nothing refers to the buffer', () => arrayBuffers() - before < 10_000_000);
    expect(request.destroyed).toBe(false);
  });

  it('refuses a body whose client disconnects', async () => {
    const { request, body } = begin();
    request.push('{');
    request.destroy();

    await expect(body).rejects.toMatchObject({ error: 400 });
  });

  // Such as error 408 of the service, or a time limit of a host.
  it('refuses a body that is complete after the answer, or is read after it', async () => {
    const { request, response, body } = begin();
    request.push('{}');
    response.writeHead(400);
    request.push(null);

    await expect(body).rejects.toMatchObject({ error: 400 });
    await expect(readBody(request, response, { length: 2, limit: 2, count: () => undefined })).rejects.toMatchObject({
      error: 400,
    });
  });
});
