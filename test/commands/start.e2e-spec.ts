import { mkdirSync, symlinkSync } from 'node:fs';
import { occupyPort } from '../support/ports.js';
import { ServiceDirectory, WITH_TOKEN } from '../support/service-directory.js';

const directory = ServiceDirectory.ofEachTest();

describe('A service that cannot start ends with status 1 and', () => {
  it.each(['PORT', 'MANAGEMENT_PORT'])('one line when another process listens on its %s', async (name) => {
    const taken = await occupyPort();

    const { status, complaint } = await directory.failedStart({ ...WITH_TOKEN, [name]: `${taken.port}` });
    taken.free();

    expect(complaint).toMatch(new RegExp(`^plant-store: .*${name}: .*127\\.0\\.0\\.1:${taken.port}.*\n$`));
    expect(status).toBe(1);
  });

  it('one line when its first token cannot be written', async () => {
    mkdirSync(directory.file('data'));
    symlinkSync('nowhere/tokens', directory.file('data/tokens'));

    const { status, complaint } = await directory.failedStart();

    expect(complaint).toMatch(/^plant-store: .*tokens.*\n$/);
    expect(status).toBe(1);
  });

  it('the stack of a defect', async () => {
    const code = `
      import { Server } from 'node:net';
      Server.prototype.listen = function () { process.nextTick(() => this.emit('error', new RangeError('a defect'))) };`;
    const options = `--import=data:text/javascript,${encodeURIComponent(code)}`;

    const { status, complaint } = await directory.failedStart({ ...WITH_TOKEN, NODE_OPTIONS: options });

    expect(complaint).toMatch(/^plant-store: RangeError: a defect\n +at /);
    expect(status).toBe(1);
  });
});
