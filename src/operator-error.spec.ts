import { execFileSync } from 'node:child_process';
import { inShell, withoutCredentials } from './operator-error.js';

describe('A word in a command for the operator', () => {
  it.each(['data/tokens', 'my tokens', "Ann's tokens", '$HOME', 'a;b', ''])('is one word for a shell: %s', (word) => {
    expect(execFileSync('sh', ['-c', `printf %s ${inShell(word)}`], { encoding: 'utf8' })).toBe(word);
  });

  it('has no quotation marks that it does not need', () => {
    expect(inShell('/etc/plant-store/tokens')).toBe('/etc/plant-store/tokens');
  });
});

describe('withoutCredentials', () => {
  it.each([
    ['postgres://user:secret@db:5432/plants', 'postgres://db:5432/plants'],
    ['postgres://:secret@db/plants', 'postgres://db/plants'],
    ['postgres://user@db:5432/plants, not https://a:b@c', 'postgres://user@db:5432/plants, not https://c'],
    ['postgres://user:se@cret@db/plants', 'postgres://db/plants'],
    ['postgres://user%3Asecret@db/plants', 'postgres://db/plants'],
    ['postgres://user@db/plants?password=secret@x', 'postgres://x'],
    ['postgres://db/plants', 'postgres://db/plants'],
    ['file:///data/a@b.db', 'file:///data/a@b.db'],
    ['write to a@example.org', 'write to a@example.org'],
  ])('makes of %s: %s', (text, expected) => {
    expect(withoutCredentials(text)).toBe(expected);
  });
});
