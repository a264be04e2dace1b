import { type IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { ContractException } from '../contract/contract.exception.js';
import { BodyReader } from './read-body.js';

const MIB = 1_048_576;
const CHUNKED: IncomingHttpHeaders = { 'transfer-encoding': 'chunked' };

function ofLength(length: number): IncomingHttpHeaders {
  return { 'content-length': `${length}` };
}

/** Begins to read the body of a new request. */
function begin(reader: BodyReader, headers: IncomingHttpHeaders) {
  const request = new IncomingMessage(new Socket());
  const response = new ServerResponse(request);
  return { request, response, body: reader.read(request, response, headers) };
}

describe('A BodyReader', () => {
  let reader: BodyReader;

  beforeEach(() => {
    reader = new BodyReader(40 * MIB);
  });

  it('reads many chunks', async () => {
    const { request, body } = begin(reader, CHUNKED);
    const texts = Array.from({ length: 5_000 }, (_, index) => `chunk ${index}. `);
    for (const text of [...texts, null]) request.push(text);

    expect(Buffer.from(await body).toString()).toBe(texts.join(''));
  });

  it('has room for 64 MiB of declared lengths together, and for others when these are read', async () => {
    const [first, second] = [begin(reader, ofLength(40 * MIB)), begin(reader, ofLength(24 * MIB))];
    await expect(begin(reader, ofLength(1)).body).rejects.toMatchObject({ error: 503 });
    first.request.push(null);
    second.request.destroy();
    await expect(Promise.all([first.body, second.body])).rejects.toMatchObject({ error: 400 });

    const { request, body } = begin(reader, ofLength(40 * MIB));
    request.push('{}');
    request.push(null);
    expect(Buffer.from(await body).toString()).toBe('{}');
  });

  it('has room for 64 MiB with the buffers for chunks, and discards the rest of a refused body', async () => {
    const accepted = begin(reader, ofLength(40 * MIB));
    const refused = begin(reader, CHUNKED);
    for (const chunk of [Buffer.alloc(11 * MIB), Buffer.alloc(12 * MIB), ' ', null]) refused.request.push(chunk);

    await expect(refused.body.then(({ length }) => length)).rejects.toMatchObject({ error: 503 });
    expect(refused.request.readableFlowing).toBe(true);
    accepted.request.push(null);
    await accepted.body;
  });

  it('has room for one body of any limit', async () => {
    const { request, body } = begin(new BodyReader(255 * MIB), ofLength(255 * MIB));
    request.push(null);

    await expect(body).resolves.toHaveLength(0);
  });

  it('refuses a body of unknown length beyond the limit with error 413', async () => {
    const { request, body } = begin(new BodyReader(5), CHUNKED);
    request.push('too long');

    await expect(body).rejects.toThrow(
      new ContractException(413, 'The body is too large: at most 5 bytes are accepted.'),
    );
  });

  // Such as error 408 of the service, or a time limit of a host.
  it('refuses a body that is complete after the answer', async () => {
    const { request, response, body } = begin(reader, CHUNKED);
    request.push('{}');
    response.writeHead(400);
    request.push(null);

    await expect(body).rejects.toMatchObject({ error: 400 });
  });
});
