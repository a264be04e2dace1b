import { chownSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { takeOwnerOf } from './durable-files.js';

let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'plant-store-'));
});

afterEach(() => rmSync(directory, { recursive: true }));

describe('Taking the owner of a directory', () => {
  it('gives no file away through a link, which the owner of the directory may have put there', () => {
    const [model, target, link] = ['model', 'target', 'link'].map((name) => join(directory, name)) as [
      string,
      string,
      string,
    ];
    for (const path of [model, target]) mkdirSync(path);
    symlinkSync(target, link);
    const { uid } = statSync(target);
    if (process.getuid?.() === 0) chownSync(model, 12_345, 12_345);

    takeOwnerOf(model, link);

    expect(statSync(target).uid).toBe(uid);
  });
});
