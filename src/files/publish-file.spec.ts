import * as fs from 'node:fs';
import { mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
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

  /** Publishes a text, after other work. */
  function publish(text: string, work = (): void => undefined): Promise<void> {
    return publishFile(target, async (draft) => {
      writeFileSync(draft, text);
      await Promise.resolve();
      work();
    });
  }

  it('creates the file, and leaves nothing else', async () => {
    await publish('first');

    expect(readdirSync(directory)).toEqual(['target']);
    expect(readFileSync(target, 'utf8')).toBe('first');
  });

  it('leaves a file that exists, and does not write its draft', async () => {
    writeFileSync(target, 'other');
    const work = jest.fn();

    await expect(publish('first', work)).rejects.toThrow(`${target} already exists: name another file`);
    expect(work).not.toHaveBeenCalled();
    expect(readFileSync(target, 'utf8')).toBe('other');
  });

  it.each([
    ['a file', () => writeFileSync(target, 'other'), () => readFileSync(target, 'utf8')],
    ['a link that leads nowhere', () => symlinkSync('other', target), () => readlinkSync(target)],
  ])('leaves %s that another process creates meanwhile', async (_, create, read) => {
    await expect(publish('first', create)).rejects.toThrow(`${target} already exists: name another file`);
    expect(readdirSync(directory)).toEqual(['target']);
    expect(read()).toBe('other');
  });

  it('says that it cannot write below a file', async () => {
    writeFileSync(target, 'other');
    target = join(target, 'below');

    await expect(publish('first')).rejects.toThrow(`${target} cannot be written: ENOTDIR`);
  });

  it('leaves nothing when its work fails', async () => {
    const fail = (): never => {
      throw new Error('no more');
    };

    await expect(publish('half', fail)).rejects.toThrow('no more');
    expect(readdirSync(directory)).toEqual([]);
  });
});
