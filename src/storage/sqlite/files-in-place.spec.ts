import * as fs from 'node:fs';
import { jest } from '@jest/globals';

let inode = 2n ** 53n;

/** A file system with inodes that a number rounds, which these tests cannot make. */
jest.unstable_mockModule('node:fs', () => ({
  ...fs,
  existsSync: () => true,
  statSync: (_path: string, { bigint = false }: { readonly bigint?: boolean }) =>
    bigint ? { dev: 1n, ino: inode, size: 1n } : { dev: 1, ino: Number(inode), size: 1 },
}));

const { FilesInPlace } = await import('./files-in-place.js');

describe('FilesInPlace', () => {
  it('tells inodes beyond 2^53 apart', () => {
    const files = new FilesInPlace('/data/plants.db', '/data/plants.db');
    files.assertInPlace();
    inode += 1n;

    expect(() => files.assertInPlace()).toThrow('the files of the database were removed or replaced: put them back');
  });
});
