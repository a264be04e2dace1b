import { stripVTControlCharacters } from 'node:util';
import { pino } from 'pino';
import { createTerminalFormat } from './terminal-format.js';

/** Returns what the terminal receives for an object and its message, as the service logs them. */
function shown(fields: object, message: string): string {
  const format = createTerminalFormat();
  let text = '';
  const options = { base: null, messageKey: 'message', formatters: { level: (level: string) => ({ level }) } };
  pino(options, { write: (line) => (text += format(line)) }).info(fields, message);
  return text;
}

describe('the log on a terminal', () => {
  it('is in colour', () => {
    const line = shown({}, 'a message');

    expect(line).not.toBe(stripVTControlCharacters(line));
  });

  const request = { requestId: 'an-id', method: 'POST', path: '/plants', status: 400, error: 422, duration: 1.25 };
  const client = { principal: 'gardener', address: '192.0.2.1', reason: 'name must be a string.' };
  const words =
    'INFO: POST /plants status=400 error=422 duration=1.25ms principal=gardener address=192.0.2.1 requestId=an-id reason=name must be a string.';

  it.each([
    { what: 'a request with labels', fields: { ...request, ...client }, ending: words },
    {
      what: 'the reason of a refused token',
      fields: { ...request, error: 401, refusal: 'expired' },
      ending: 'POST /plants status=400 error=401 refusal=expired duration=1.25ms requestId=an-id',
    },
    { what: 'the worker of a line', fields: { worker: 2 }, message: 'Stopped', ending: ' [worker 2] Stopped' },
    {
      what: 'the worker of a request',
      fields: { ...request, worker: 2 },
      ending: ' [worker 2] POST /plants status=400 error=422 duration=1.25ms requestId=an-id',
    },
    {
      what: 'input that is not HTTP',
      fields: { requestId: 'an-id', error: 400 },
      ending: 'not HTTP error=400 requestId=an-id',
    },
    {
      what: 'input that is no request',
      fields: { requestId: 'an-id', error: 408 },
      ending: ': HTTP error=408 requestId=an-id',
    },
    {
      what: 'the stack of an error',
      fields: { stack: 'Error: no\n    at a place' },
      message: 'The request an-id failed: no',
      ending: ' The request an-id failed: no\nError: no\n    at a place',
    },
    { what: 'a backslash unchanged', fields: {}, ending: 'C:\\buds\\roots' },
    { what: 'no escape', fields: {}, message: 'before\x1b[2J', ending: 'before\ufffd[2J' },
    { what: 'no control character of C1', fields: {}, message: 'before\x9b2J', ending: 'before\ufffd2J' },
  ])('shows $what', ({ fields, message = 'C:\\buds\\roots', ending }) => {
    const line = stripVTControlCharacters(shown(fields, message));

    expect(line.endsWith(`${ending}\n`)).toBe(true);
  });
});
