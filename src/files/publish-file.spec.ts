import {
  chmodSync,
  chownSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { publishFile } from './publish-file.js';

describe('publishFile', () => {
  let directory: string;
  let target: string;

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'plant-store-'));
    target = join(directory, 'target');
  });

  afterEach(() => rmSync(directory, { recursive: true }));

  /** Publishes a text, with a file beside its draft. */
  function publish(text: string): Promise<string> {
    const write = (draft: string): Promise<string> => {
      writeFileSync(draft, text);
      writeFileSync(`${draft}-wal`, '');
      return Promise.resolve(draft);
    };
    return publishFile(target, write, { companions: ['-wal'] });
  }

  it('creates the file, and leaves nothing else', async () => {
    await publish('first');

    expect(readdirSync(directory)).toEqual(['target']);
    expect(readFileSync(target, 'utf8')).toBe('first');
  });

  it('leaves a file that exists as it is', async () => {
    await publish('first');

    await expect(publish('second')).rejects.toThrow(`${target} already exists: name another file`);
    expect(readdirSync(directory)).toEqual(['target']);
    expect(readFileSync(target, 'utf8')).toBe('first');
  });

  it('does not write its draft when the file exists, not even as a link that leads nowhere', async () => {
    symlinkSync('nowhere', target);
    let isWritten = false;
    const write = (): Promise<void> => {
      isWritten = true;
      return Promise.resolve();
    };

    await expect(publishFile(target, write, { ifExists: 'move it away' })).rejects.toThrow(
      `${target} already exists: move it away`,
    );
    expect(isWritten).toBe(false);
  });

  it('leaves a file that another process creates meanwhile', async () => {
    const write = (draft: string): Promise<void> => {
      writeFileSync(draft, 'first');
      writeFileSync(target, 'other');
      return Promise.resolve();
    };

    await expect(publishFile(target, write)).rejects.toThrow(`${target} already exists: name another file`);
    expect(readFileSync(target, 'utf8')).toBe('other');
  });

  it('leaves nothing when its name cannot be put on disk', async () => {
    const isRoot = process.getuid?.() === 0;
    // Lets the user write to the directory, but not open it to sync it.
    chmodSync(directory, 0o300);
    if (isRoot) {
      chownSync(directory, 12_345, 12_345);
      process.seteuid?.(12_345);
    }
    try {
      await expect(publish('first')).rejects.toThrow('EACCES');
    } finally {
      if (isRoot) process.seteuid?.(0);
    }
    chmodSync(directory, 0o700);
    expect(readdirSync(directory)).toEqual([]);
  });

  it('leaves nothing when its work fails', async () => {
    const write = (draft: string): Promise<never> => {
      writeFileSync(draft, 'half');
      return Promise.reject(new Error('no more'));
    };

    await expect(publishFile(target, write)).rejects.toThrow('no more');
    expect(readdirSync(directory)).toEqual([]);
  });
});
