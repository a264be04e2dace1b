import * as fs from 'node:fs';
import {
  chmodSync,
  chownSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { jest } from '@jest/globals';

/** Writes to an open file, like the system. */
let write = writeFileSync as (descriptor: number, text: string) => void;

jest.unstable_mockModule('node:fs', () => ({
  ...fs,
  writeFileSync: (descriptor: number, text: string) => write(descriptor, text),
}));

const { appendToFile, createFile, makeDirectory, replaceFile } = await import('./durable-files.js');

let directory: string;
let file: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'plant-store-'));
  file = join(directory, 'file');
});

afterEach(() => rmSync(directory, { recursive: true }));

describe('makeDirectory', () => {
  it('makes the directories above it, and leaves those that exist', () => {
    for (let times = 0; times < 2; times += 1) makeDirectory(join(directory, 'a', 'b'));

    expect(readdirSync(join(directory, 'a'))).toEqual(['b']);
  });

  it('fails where there can be no directory', () => {
    writeFileSync(file, '');

    expect(() => makeDirectory(join(file, 'a'))).toThrow('ENOTDIR');
  });
});

describe('createFile', () => {
  it('creates a file that only its owner can read, and leaves one that exists', () => {
    expect(createFile(file, 'first')).toBe(true);
    expect(createFile(file, 'second')).toBe(false);

    expect(readFileSync(file, 'utf8')).toBe('first');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readdirSync(directory)).toEqual(['file']);
  });
});

describe('On a full disk', () => {
  beforeEach(() => {
    write = (descriptor, text) => {
      writeSync(descriptor, text.slice(0, 3));
      throw new Error('ENOSPC');
    };
  });

  afterEach(() => {
    write = writeFileSync;
  });

  it('createFile leaves no part of the file', () => {
    expect(() => createFile(file, 'first\n')).toThrow('ENOSPC');

    expect(readdirSync(directory)).toEqual([]);
  });

  it('appendToFile removes the part that was written', () => {
    fs.writeFileSync(file, 'first\n');

    expect(() => appendToFile(file, 'second\n')).toThrow('ENOSPC');

    expect(readFileSync(file, 'utf8')).toBe('first\n');
  });
});

describe('replaceFile', () => {
  it('replaces a file by another one with its permissions and owner, and leaves no draft', () => {
    writeFileSync(file, 'first, which is longer');
    chmodSync(file, 0o640);
    if (process.getuid?.() === 0) chownSync(file, 12_345, 12_346);
    const { ino, uid, gid, mode } = statSync(file);

    replaceFile(file, 'second');

    expect(readFileSync(file, 'utf8')).toBe('second');
    expect(statSync(file)).toMatchObject({ uid, gid, mode });
    expect(statSync(file).ino).not.toBe(ino);
    expect(readdirSync(directory)).toEqual(['file']);
  });
});
