import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Run } from '../support/command.js';
import { occupyPort } from '../support/ports.js';
import { ServiceDirectory, type Variables, WITH_TOKEN } from '../support/service-directory.js';
import { until } from '../support/until.js';

const CERTIFICATES = join(import.meta.dirname, '../support/certificates');

const directory = ServiceDirectory.ofEachTest();

function health(variables: Variables, ...parameters: string[]): Promise<Run> {
  return directory.run('health', parameters, variables);
}

describe('plant-store health', () => {
  it('asks the management listener whether the service is alive, and whether it is ready', async () => {
    const { service, management } = await directory.startManaged({ STORE_TIMEOUT: '100ms' });
    const variables = { MANAGEMENT_PORT: new URL(management).port };
    const lock = directory.openDatabase();
    lock.exec('BEGIN EXCLUSIVE');

    expect(await health(variables)).toEqual({ status: 0, stdout: '', stderr: 'The service is alive\n' });
    expect(await health(variables, '--ready')).toEqual({
      status: 1,
      stdout: '',
      stderr: `plant-store: ${management}/health/ready answers with status 503\n`,
    });
    lock.close();
    // The service checks its store once a second.
    await until('it is ready', async () => (await health(variables, '--ready')).status === 0);
    expect(JSON.parse((await health(variables, '--ready', '--json')).stdout)).toEqual({
      state: 'ready',
      url: `${management}/health/ready`,
      status: 200,
    });

    await service.stop();
    const { status, stderr } = await health(variables);
    expect(stderr).toBe(`plant-store: ${management}/health/live does not answer (ECONNREFUSED)\n`);
    expect(status).toBe(1);
  });

  it.each<[string, Variables]>([
    ['HTTP', { BASE_PATH: '/v1' }],
    ['TLS', { TLS_CERT_FILE: 'first.crt', TLS_KEY_FILE: 'first.key' }],
    ['all addresses', { HOST: '0.0.0.0' }],
    ['IPv6', { HOST: '::1' }],
  ])('asks the public port without a management listener: %s', async (_, variables) => {
    for (const name of ['first.crt', 'first.key']) {
      directory.write(name, readFileSync(join(CERTIFICATES, name), 'utf8'));
    }
    const { url } = await directory.start({ ...WITH_TOKEN, ...variables });

    const port = { PORT: new URL(url).port, MANAGEMENT_PORT: 'off' };
    expect(await health({ ...variables, ...port })).toMatchObject({ status: 0, stderr: 'The service is alive\n' });
  });

  it('says that another program answers', async () => {
    const { management } = await directory.startManaged();

    const { status, stderr } = await health({ PORT: new URL(management).port, MANAGEMENT_PORT: 'off' });

    expect(stderr).toMatch(/\/plants answers with status 404\n$/);
    expect(status).toBe(1);
  });

  it('says that a port does not answer in time', async () => {
    const taken = await occupyPort();

    const { status, stderr } = await health({ MANAGEMENT_PORT: `${taken.port}` });
    taken.free();

    expect(stderr).toMatch(/^plant-store: \S+ does not answer \(timeout\)\n$/);
    expect(status).toBe(1);
  });
});
