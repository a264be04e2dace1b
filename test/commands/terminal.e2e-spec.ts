import type { NodeProcess } from '../support/node-process.js';
import { ServiceDirectory } from '../support/service-directory.js';
import { ON_TERMINAL } from '../support/terminal.js';

const [CTRL_C, CTRL_D] = ['\x03', '\x04'];

const directory = ServiceDirectory.ofEachTest();

function onTerminal(command: string, ...parameters: string[]): NodeProcess {
  return directory.command(command, parameters, {}, ON_TERMINAL);
}

describe('Ctrl+C', () => {
  it('ends a command while it shows its progress', async () => {
    await directory.store([]);
    directory.fill(200_000);
    const running = onTerminal('verify');
    await running.printed(/(\d plants)/);
    running.child.stdin.write(CTRL_C);

    expect(await running.ended).toBe(130);
  });
});

describe('plant-store export', () => {
  it('shows its progress on the terminal while the plants go to a file', async () => {
    await directory.store([{ id: 1n, name: 'Monstera' }]);
    // The shell that `script` starts redirects stdout alone.
    const running = onTerminal('export', '>', 'plants.ndjson');

    expect(await running.ended).toBe(0);
    expect(running.stdout).toContain('0 plants');
  });

  it('shows plants that go to the terminal without its progress between them', async () => {
    await directory.store([{ id: 1n, name: 'Monstera' }]);
    const running = onTerminal('export');

    expect(await running.ended).toBe(0);
    expect(running.stdout).toBe('{"id":1,"name":"Monstera"}\r\n1 plant exported\r\n');
  });
});

describe('plant-store import', () => {
  it('shows each rejected row on a line of its own, which the progress does not erase', async () => {
    await directory.store([]);
    directory.write('rows.ndjson', '{"id":x}\n{"id":1,"name":"Monstera"}\n{"id":y}\n');
    const running = onTerminal('import', 'rows.ndjson');

    expect(await running.ended).toBe(3);
    const shown = running.stdout.split('\r\n').map((line) => line.split('\x1b[K').at(-1));
    expect(shown.slice(0, 3)).toEqual([
      expect.stringMatching(/^line 1: The row is not JSON/),
      expect.stringMatching(/^line 3: The row is not JSON/),
      expect.stringMatching(/^1 created/),
    ]);
  });

  it('says on a terminal that it reads stdin', async () => {
    await directory.store([]);
    const running = onTerminal('import');
    await running.printed(/(Reading plants from stdin\. End with Ctrl\+D, or name a file instead\.)/);
    running.child.stdin.write(`{"id":1,"name":"Monstera"}\n${CTRL_D}`);

    expect(await running.ended).toBe(0);
    expect(running.stdout).toContain('1 created');
  });
});
