import {
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { publish, takeOwnerOf } from './durable-files.js';

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

describe('publish', () => {
  it('gives a draft its name, and leaves a file that has it already as it is', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'plant-store-'));
    const [draft, target] = [join(directory, 'draft'), join(directory, 'target')];
    writeFileSync(draft, 'first');
    await publish(draft, target);
    expect(readdirSync(directory)).toEqual(['target']);
    writeFileSync(draft, 'second');

    await expect(publish(draft, target)).rejects.toThrow('EEXIST');
    expect(readFileSync(target, 'utf8')).toBe('first');
    rmSync(directory, { recursive: true });
  });
});
