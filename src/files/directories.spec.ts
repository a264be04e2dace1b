import { chownSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeDirectory, takeOwnerOf } from './directories.js';
import { createFileAndDirectory } from './durable-files.js';

describe('makeDirectory', () => {
  it('gives what root has created the owner of the directory above', () => {
    const directory = mkdtempSync(join(tmpdir(), 'plant-store-'));
    if (process.getuid?.() === 0) chownSync(directory, 12_345, 12_346);
    const { uid, gid } = statSync(directory);

    makeDirectory(join(directory, 'a', 'b'));
    makeDirectory(join(directory, 'a', 'b'));
    createFileAndDirectory(join(directory, 'a', 'file'));

    for (const path of ['a', 'a/b', 'a/file']) expect(statSync(join(directory, path))).toMatchObject({ uid, gid });
    rmSync(directory, { recursive: true });
  });
});

describe('takeOwnerOf', () => {
  it('gives no file away through a link, which the owner of the directory may have put there', () => {
    const directory = mkdtempSync(join(tmpdir(), 'plant-store-'));
    const [model, target, link] = [join(directory, 'model'), join(directory, 'target'), join(directory, 'link')];
    for (const path of [model, target]) mkdirSync(path);
    symlinkSync(target, link);
    const { uid } = statSync(target);
    if (process.getuid?.() === 0) chownSync(model, 12_345, 12_345);

    takeOwnerOf(model, link);

    expect(statSync(target).uid).toBe(uid);
    rmSync(directory, { recursive: true });
  });
});
