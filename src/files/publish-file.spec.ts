import * as fs from 'node:fs';
import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { jest } from '@jest/globals';

/** False for a file system without hard links, which these tests cannot make. */
let hasLinks = true;

jest.unstable_mockModule('node:fs', () => ({
  ...fs,
  linkSync(...paths: Parameters<typeof fs.linkSync>) {
    if (hasLinks) fs.linkSync(...paths);
    else throw Object.assign(new Error('EPERM: operation not permitted'), { code: 'EPERM', syscall: 'link' });
  },
}));

const { publishFile } = await import('./publish-file.js');

describe.each([true, false])('publishFile where the file system has links: %s', (links) => {
  let directory: string;
  let target: string;

  beforeEach(() => {
    hasLinks = links;
    directory = mkdtempSync(join(tmpdir(), 'plant-store-'));
    target = join(directory, 'target');
  });

  afterEach(() => rmSync(directory, { recursive: true }));

  /** Publishes a text. */
  function publish(text: string): Promise<void> {
    return publishFile(target, (draft) => {
      writeFileSync(draft, text);
      return Promise.resolve();
    });
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

    await expect(publishFile(target, write)).rejects.toThrow(`${target} already exists: name another file`);
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

  it('leaves nothing when its work fails', async () => {
    const write = (draft: string): Promise<never> => {
      writeFileSync(draft, 'half');
      return Promise.reject(new Error('no more'));
    };

    await expect(publishFile(target, write)).rejects.toThrow('no more');
    expect(readdirSync(directory)).toEqual([]);
  });
});
