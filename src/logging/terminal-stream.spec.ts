import { PassThrough } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import { pino } from 'pino';
import { createTerminalStream } from './terminal-stream.js';

/** Returns what the terminal receives for an object and its message, as the service logs them. */
async function shown(fields: object, message: string): Promise<string> {
  const terminal = new PassThrough({ encoding: 'utf8' });
  const options = { base: null, messageKey: 'message', formatters: { level: (level: string) => ({ level }) } };
  pino(options, createTerminalStream(terminal)).info(fields, message);
  for await (const text of terminal) return String(text);
  return '';
}

describe('the log on a terminal', () => {
  it('shows a request as one readable line, in colour, with labels and the address of the client', async () => {
    const request = { requestId: 'an-id', method: 'POST', path: '/plants', status: 400, error: 422, duration: 1.25 };
    const client = { principal: 'gardener', address: '192.0.2.1', reason: 'name must be a string.' };
    const line = await shown({ ...request, ...client }, 'request');

    expect(line).not.toBe(stripVTControlCharacters(line));
    expect(stripVTControlCharacters(line)).toMatch(
      /INFO: POST \/plants status=400 error=422 duration=1\.25ms principal=gardener address=192\.0\.2\.1 requestId=an-id reason=name must be a string\.\n$/,
    );
  });

  it.each([
    [400, 'not HTTP'],
    [408, 'HTTP'],
    [503, 'HTTP'],
  ])('shows input with error %i that is no request as "%s"', async (error, subject) => {
    const line = stripVTControlCharacters(await shown({ requestId: 'an-id', status: 400, error }, 'request'));

    expect(line).toMatch(new RegExp(`INFO: ${subject} status=400 error=${error} requestId=an-id\n$`));
  });

  it('shows the stack of an error', async () => {
    const line = stripVTControlCharacters(await shown({ stack: 'Error: a defect\n    at a place' }, 'a defect'));

    expect(line).toMatch(/Error: a defect\n {4}at a place\n$/);
  });

  it('shows a backslash unchanged', async () => {
    expect(await shown({}, 'C:\\buds\\roots')).toContain('C:\\buds\\roots');
  });

  it.each([
    ['an escape', '\x1b[2J'],
    ['one of C1', '\x9b2J'],
    ['DEL', '\x7f'],
  ])('replaces control characters: %s', async (_what, command) => {
    const line = await shown({}, `before${command}after`);

    expect(line).not.toContain(`before${command.charAt(0)}`);
    expect(line).toContain('before\ufffd');
  });
});
