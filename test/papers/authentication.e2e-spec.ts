import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { parseTokens } from '../../src/auth/token-file.js';
import { MAIN } from '../support/command.js';
import { Paper } from '../support/paper.js';
import { ServiceDirectory } from '../support/service-directory.js';

const GUIDE = new Paper('docs/authentication.md');
const directory = ServiceDirectory.ofEachTest();

describe('The guide to authentication', () => {
  it('has commands that create, list and revoke a token', () => {
    const env = { PATH: process.env.PATH, ACCESS_TOKENS_FILE: directory.file('tokens') };
    const commands = GUIDE.blockIn('Static tokens', 'sh').replaceAll(
      'npx plant-store',
      `'${process.execPath}' '${MAIN}'`,
    );
    const { status, stdout } = spawnSync('sh', ['-ec', commands], { cwd: directory.path, env, encoding: 'utf8' });

    expect(status).toBe(0);
    expect(stdout).toMatch(/^[\w-]{43}\nci\t[\d-]{10}T\S+\tvalid\n$/);
    expect(readFileSync(env.ACCESS_TOKENS_FILE, 'utf8')).not.toContain('ci sha256');
  });

  it('has a token file that the service reads', () => {
    expect(parseTokens(`${GUIDE.blockIn('The token file', 'text')}\n`, 'tokens')).toMatchObject([
      { name: 'gardener' },
      { name: 'trainee', expires: new Date('2030-01-01T00:00:00Z') },
    ]);
  });
});
