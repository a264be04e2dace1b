import { refusesConnections } from '../support/raw-client.js';
import { ServiceDirectory, WITH_TOKEN } from '../support/service-directory.js';
import { ON_TERMINAL } from '../support/terminal.js';

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

/** Ends the processes of a terminal that are left. */
function endGroup(leader: number): void {
  try {
    process.kill(-leader, 'SIGKILL');
  } catch {
    // All of them have ended.
  }
}
