import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Privacy, readRegularFile } from './regular-file.js';

describe('readRegularFile', () => {
  let directory: string;
  let file: string;

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'regular-file-'));
    file = join(directory, 'file');
    writeFileSync(file, 'text');
  });

  afterEach(() => rmSync(directory, { recursive: true }));

  it.each<{ privacy: Privacy; allowed: readonly number[]; refused: readonly number[] }>([
    { privacy: 'public', allowed: [0o600, 0o644, 0o666], refused: [] },
    { privacy: 'secret', allowed: [0o400, 0o600, 0o640], refused: [0o620, 0o604, 0o601, 0o644] },
  ])('reads a $privacy file with the modes $allowed alone', ({ privacy, allowed, refused }) => {
    for (const mode of allowed) {
      chmodSync(file, mode);
      expect(readRegularFile(file, privacy).toString()).toBe('text');
    }
    for (const mode of refused) {
      chmodSync(file, mode);
      expect(() => readRegularFile(file, privacy)).toThrow(/other users: chmod .+file$/);
    }
  });

  it.each([
    ['a pipe', 'mkfifo "$0"'],
    ['a directory', 'mkdir "$0"'],
    ['a device', 'ln -s /dev/zero "$0"'],
  ])('refuses %s, and does not wait for it', (_what, command) => {
    rmSync(file);
    execFileSync('sh', ['-c', command, file]);

    expect(() => readRegularFile(file, 'public')).toThrow(/file is not a regular file$/);
  });

  it('names a file that is missing, with advice', () => {
    expect(() => readRegularFile(`${file}s`, 'secret', 'create it')).toThrow(/^there is no file .+\/files: create it$/);
  });
});
