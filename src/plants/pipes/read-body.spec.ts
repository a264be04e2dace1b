import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { ContractException } from '../../contract/contract.exception.js';
import { readBody } from './read-body.js';

const LIMIT = 100_000;
const hasRoom = (): boolean => true;

describe('readBody', () => {
  let request: IncomingMessage;

  beforeEach(() => {
    request = new IncomingMessage(new Socket());
  });

  it('reads a body that has arrived before, in several chunks', async () => {
    request.push('first');
    request.push('other');
    request.push(null);
    request.complete = true;

    const body = await readBody(request, 10, LIMIT, hasRoom);

    expect(Buffer.from(body).toString()).toBe('firstother');
  });

  it('refuses a body that the client does not complete', async () => {
    const body = readBody(request, undefined, LIMIT, hasRoom);
    request.push('a');
    request.destroy();

    await expect(body).rejects.toMatchObject({ error: 400 });
    expect(() => readBody(request, undefined, LIMIT, hasRoom)).toThrow(ContractException);
  });

  it('refuses a body for which there is no room', async () => {
    const body = readBody(request, undefined, LIMIT, () => false);
    request.push('a');

    await expect(body).rejects.toMatchObject({ error: 503 });
  });
});
