import { execFileSync } from 'node:child_process';
import { inShell } from './in-shell.js';

describe('A word in a command for the operator', () => {
  it.each(['data/tokens', 'my tokens', "Ann's tokens", '$HOME', 'a;b', ''])('is one word for a shell: %s', (word) => {
    expect(execFileSync('sh', ['-c', `printf %s ${inShell(word)}`], { encoding: 'utf8' })).toBe(word);
  });

  it('has no quotation marks that it does not need', () => {
    expect(inShell('/etc/plant-store/tokens')).toBe('/etc/plant-store/tokens');
  });
});
