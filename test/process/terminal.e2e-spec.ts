import { readFileSync } from 'node:fs';
import { message } from '../support/http-messages.js';
import { ask, RawClient, refusesConnections } from '../support/raw-client.js';
import { ServiceDirectory, WITH_TOKEN } from '../support/service-directory.js';
import { ON_TERMINAL } from '../support/terminal.js';
import { until } from '../support/until.js';

const directory = ServiceDirectory.ofEachTest();

describe('A service whose terminal is closed', () => {
  it('stops', async () => {
    const terminal = directory.launch(WITH_TOKEN, ON_TERMINAL);
    const url = await terminal.printed(/Listening: POST (\S+)\/plants/);
    const [leader = 0] = terminal.children();

    try {
      await terminal.stop('SIGKILL');
      await refusesConnections(url);
    } finally {
      endGroup(leader);
    }
  });
});

describe('A service whose terminal takes no output, as after Ctrl+S', () => {
  it('goes on, and ends at once when a second signal follows', async () => {
    const terminal = directory.launch({ ...WITH_TOKEN, SHUTDOWN_TIMEOUT: '60m' }, ON_TERMINAL);
    const url = await terminal.printed(/Listening: POST (\S+)\/plants/);
    const [service = 0] = terminal.children();
    terminal.holdOutput();
    const client = await RawClient.open(url);
    // More than the terminal and the pipe behind it keep.
    const request = message({ line: `GET /${'x'.repeat(255)} HTTP/1.1`, framing: [], body: '' });
    for (let count = 0; count < 40; count += 1) {
      client.received = '';
      client.socket.write(request.repeat(100));
      await client.answered(100);
    }
    client.socket.destroy();

    expect(await ask(url)).toBe(200);
    process.kill(service, 'SIGTERM');
    await refusesConnections(url);
    process.kill(service, 'SIGINT');
    await until('the service has ended', () => !isRunning(service));
    terminal.releaseOutput();
    expect(await terminal.ended).toBe(0);
  });
});

function isRunning(pid: number): boolean {
  return !readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ');
}

/** Ends the processes of a terminal that are left. */
function endGroup(leader: number): void {
  try {
    process.kill(-leader, 'SIGKILL');
  } catch {
    // All of them have ended.
  }
}
