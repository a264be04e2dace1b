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

/** Stands for the system, which writes to an open file. */
let write = writeFileSync as (descriptor: number, text: string) => void;

jest.unstable_mockModule('node:fs', () => ({
  ...fs,
  writeFileSync: (descriptor: number, text: string) => write(descriptor, text),
}));

const { appendToFile, createFile, makeDirectory, replaceFile } = await import('./durable-files.js');

/** Returns the permissions of a file. */
function modeOf(path: string): number {
  return statSync(path).mode & 0o777;
}

describe('What root creates', () => {
  it('belongs to the owner of the directory', () => {
    const directory = mkdtempSync(join(tmpdir(), 'plant-store-'));
    if (process.getuid?.() === 0) chownSync(directory, 12_345, 12_346);
    const { uid, gid } = statSync(directory);

    makeDirectory(join(directory, 'a', 'b'));
    makeDirectory(join(directory, 'a', 'b'));
    createFile(join(directory, 'a', 'file'));

    for (const path of ['a', 'a/b', 'a/file']) expect(statSync(join(directory, path))).toMatchObject({ uid, gid });
    rmSync(directory, { recursive: true });
  });
});

describe('createFile', () => {
  it('creates a file that only its owner can read, and leaves one that exists', () => {
    const directory = mkdtempSync(join(tmpdir(), 'plant-store-'));
    const file = join(directory, 'file');

    expect(createFile(file, 'first')).toBe(true);
    expect(createFile(file, 'second')).toBe(false);

    expect(readFileSync(file, 'utf8')).toBe('first');
    expect(modeOf(file)).toBe(0o600);
    expect(readdirSync(directory)).toEqual(['file']);
    rmSync(directory, { recursive: true });
  });
});

describe('makeDirectory', () => {
  it('fails where there can be no directory', () => {
    const directory = mkdtempSync(join(tmpdir(), 'plant-store-'));
    writeFileSync(join(directory, 'file'), '');

    expect(() => makeDirectory(join(directory, 'file', 'a'))).toThrow('ENOTDIR');
    rmSync(directory, { recursive: true });
  });
});

describe('appendToFile', () => {
  it('adds a text at the end', () => {
    const directory = mkdtempSync(join(tmpdir(), 'plant-store-'));
    const file = join(directory, 'file');
    writeFileSync(file, 'a', { mode: 0o640 });

    appendToFile(file, 'b');
    appendToFile(file, 'c');

    expect(readFileSync(file, 'utf8')).toBe('abc');
    expect(modeOf(file)).toBe(0o640);
    rmSync(directory, { recursive: true });
  });
});

describe('appendToFile on a full disk', () => {
  afterEach(() => {
    write = writeFileSync;
  });

  it('removes the part that was written', () => {
    const directory = mkdtempSync(join(tmpdir(), 'plant-store-'));
    const file = join(directory, 'file');
    writeFileSync(file, 'first\n');
    write = (descriptor, text) => {
      writeSync(descriptor, text.slice(0, 3));
      throw new Error('ENOSPC');
    };

    expect(() => appendToFile(file, 'second\n')).toThrow('ENOSPC');

    expect(readFileSync(file, 'utf8')).toBe('first\n');
    rmSync(directory, { recursive: true });
  });
});

describe('replaceFile', () => {
  it('replaces a file by another one with its permissions and owner, and leaves no draft', () => {
    const directory = mkdtempSync(join(tmpdir(), 'plant-store-'));
    const file = join(directory, 'file');
    writeFileSync(file, 'first, which is longer');
    chmodSync(file, 0o640);
    if (process.getuid?.() === 0) chownSync(file, 12_345, 12_346);
    const { ino, uid, gid } = statSync(file);

    replaceFile(file, 'second');

    expect(readFileSync(file, 'utf8')).toBe('second');
    expect(statSync(file)).toMatchObject({ uid, gid });
    expect(modeOf(file)).toBe(0o640);
    expect(statSync(file).ino).not.toBe(ino);
    expect(readdirSync(directory)).toEqual(['file']);
    rmSync(directory, { recursive: true });
  });

  it('leaves no draft when it fails', () => {
    const directory = mkdtempSync(join(tmpdir(), 'plant-store-'));

    expect(() => replaceFile(join(directory, 'missing'), 'text')).toThrow('ENOENT');

    expect(readdirSync(directory)).toEqual([]);
    rmSync(directory, { recursive: true });
  });
});
