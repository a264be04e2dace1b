import { existsSync } from 'node:fs';
import type { NodeProcess } from '../support/node-process.js';
import { ServiceDirectory } from '../support/service-directory.js';
import { ON_TERMINAL } from '../support/terminal.js';

const [WRAP_OFF, WRAP_ON, CTRL_C, CTRL_D] = ['\x1b[?7l', '\x1b[?7h', '\x03', '\x04'];

const directory = ServiceDirectory.ofEachTest();

function onTerminal(command: string, ...parameters: string[]): NodeProcess {
  return directory.command(command, parameters, {}, ON_TERMINAL);
}

describe('Ctrl+C during a progress bar', () => {
  it.each([
    { command: ['export', 'other.ndjson'], words: 'there is no other.ndjson; run the same command again' },
    { command: ['verify'], words: 'run the same command again' },
    {
      command: ['import', 'plants.ndjson'],
      words: '0 created, \\d+ repeated, 0 conflicts, 0 rejected; run the same command again: it goes on where .+',
    },
  ])('of $command.0 leaves the terminal as it was, and one line says how to go on', async ({ command, words }) => {
    await directory.store([]);
    directory.fill(200_000);
    if (command[0] === 'import') await directory.run('export', ['plants.ndjson']);
    const running = onTerminal(...(command as [string]));
    await running.printed(/(\d of \d+ plants|\d rows)/);
    running.child.stdin.write(CTRL_C);

    expect(await running.ended).toBe(130);
    const shown = running.stdout;
    expect(shown.lastIndexOf(WRAP_ON)).toBeGreaterThan(shown.lastIndexOf(WRAP_OFF));
    const [last = '', end] = shown.split('\r\n').slice(-2);
    // The bar is erased from the line first.
    expect(last.split('\x1b[2K').at(-1)).toMatch(new RegExp(`^plant-store: interrupted: ${words}$`));
    expect(end).toBe('');
    expect(existsSync(directory.file('other.ndjson'))).toBe(false);
  });
});

describe('plant-store export', () => {
  it('shows its progress on the terminal while the plants go to a file', async () => {
    await directory.store([{ id: 1n, name: 'Monstera' }]);
    // The shell that `script` starts redirects stdout alone.
    const running = onTerminal('export', '>', 'plants.ndjson');

    expect(await running.ended).toBe(0);
    expect(running.stdout).toContain('0 of 1 plants');
  });

  it('shows plants that go to the terminal without a progress bar between them', async () => {
    await directory.store([{ id: 1n, name: 'Monstera' }]);
    const running = onTerminal('export');

    expect(await running.ended).toBe(0);
    expect(running.stdout).toBe('{"id":1,"name":"Monstera"}\r\n1 plant exported\r\n');
  });
});

describe('plant-store import', () => {
  it('shows each rejected row on a line of its own, which the end of the progress does not erase', async () => {
    await directory.store([]);
    directory.write('rows.ndjson', '{"id":x}\n{"id":1,"name":"Monstera"}\n{"id":y}\n');
    const running = onTerminal('import', 'rows.ndjson');

    expect(await running.ended).toBe(3);
    const shown = running.stdout.split('\r\n');
    const [saved, erased] = ['\x1b7', '\x1b[K'];
    // What is shown at the end is erased at the saved position.
    expect(shown.slice(0, 3).map((line) => line.split(erased).at(-1))).toEqual([
      expect.stringMatching(/^line 1: The row is not JSON/),
      expect.stringMatching(/^line 3: The row is not JSON/),
      expect.stringContaining('1 created'),
    ]);
    expect(shown[2]?.startsWith(saved)).toBe(true);
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
