import { mkdirSync, symlinkSync } from 'node:fs';
import { occupyPort } from '../support/ports.js';
import { ServiceDirectory, WITH_TOKEN } from '../support/service-directory.js';

const directory = ServiceDirectory.ofEachTest();

describe('A service that cannot start', () => {
  it('ends with status 1 and one line when its host has no address', async () => {
    expect(await directory.failedStart({ ...WITH_TOKEN, HOST: 'plants.invalid' })).toEqual({
      status: 1,
      complaint: expect.stringMatching(
        /^plant-store: HOST and PORT: cannot listen on plants\.invalid:0 \((?:ENOTFOUND|EAI_AGAIN)\): [^\n]+\n$/,
      ) as unknown,
    });
  });

  it.each(['PORT', 'MANAGEMENT_PORT'])(
    'ends with status 1 and one line when another process listens on its %s',
    async (name) => {
      const taken = await occupyPort();

      const { status, complaint } = await directory.failedStart({ ...WITH_TOKEN, [name]: `${taken.port}` });
      taken.free();

      expect(complaint).toMatch(
        new RegExp(`^plant-store: [^\n]*${name}: [^\n]*127\\.0\\.0\\.1:${taken.port}[^\n]*\n$`),
      );
      expect(status).toBe(1);
    },
  );

  it('ends with status 1 and the stack of a defect', async () => {
    const code = `
      import { Server } from 'node:net';
      Server.prototype.listen = function () { process.nextTick(() => this.emit('error', new RangeError('a defect'))) };`;

    const { status, complaint } = await directory.failedStart({
      ...WITH_TOKEN,
      NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(code)}`,
    });

    expect(complaint).toMatch(/^plant-store: RangeError: a defect\n +at /);
    expect(status).toBe(1);
  });

  it('ends with status 1 and one line when its first token cannot be written', async () => {
    mkdirSync(directory.file('data/tokens.d'), { recursive: true });
    symlinkSync('tokens.d/nowhere/tokens', directory.file('data/tokens'));

    expect(await directory.failedStart()).toEqual({ status: 1, complaint: expect.stringMatching(/tokens/) as unknown });
  });
});

describe('SIGINT, which Ctrl+C sends,', () => {
  it('ends a service with status 0, as SIGTERM does', async () => {
    const { service } = await directory.start();

    expect(await service.stop('SIGINT')).toBe(0);
  });
});
