import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { readBody } from './read-body.js';

describe('readBody', () => {
  it('refuses a body for which there is no room', async () => {
    const request = new IncomingMessage(new Socket());
    const body = readBody(request, undefined, 100_000, () => false);
    request.push('a');

    await expect(body).rejects.toMatchObject({ error: 503 });
  });
});
