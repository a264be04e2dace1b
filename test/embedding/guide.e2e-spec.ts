import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PackedPackage } from '../support/hosts/installation.js';

const GUIDE = readFileSync(join(import.meta.dirname, '../../docs/embedding.md'), 'utf8');

/** The snippets that export something, by the name of what they export last. */
const SNIPPETS = new Map(
  [...GUIDE.matchAll(/^```ts\n([^]*?)^```$/gm)].flatMap(([, text = '']) =>
    [...text.matchAll(/^export (?:async )?(?:class|function|const) (\w+)/gm)].map(([, name = '']) => [name, text]),
  ),
);

/** Returns the name of a file that has a snippet. */
function fileOf(name: string): string {
  return name.replace(/(?<!^)[A-Z]/g, '-$&').toLowerCase();
}

describe('The guide to embedding', () => {
  const packed = new PackedPackage();
  const installation = packed.install('module', [
    '@nestjs/platform-express',
    '@nestjs/swagger',
    '@nestjs/testing',
    'better-sqlite3',
  ]);

  afterAll(() => packed.remove());

  it('has snippets whose types are correct', () => {
    const sources = [...SNIPPETS].map(([name, text]) => [`${fileOf(name)}.ts`, text]);

    expect(sources.length).toBeGreaterThan(6);
    expect(installation.diagnose(Object.fromEntries(sources) as Record<string, string>)).toBe('');
  });

  it('has snippets that work', async () => {
    for (const [name, text] of SNIPPETS) {
      const source = join(installation.directory, `${fileOf(name)}.ts`);
      writeFileSync(source, text);
      installation.compile(source, `${fileOf(name)}.js`);
    }
    installation.compile(join(import.meta.dirname, '../support/hosts/guide.ts'), 'guide.js');
    const running = installation.start(['guide.js']);

    expect(JSON.parse(await running.line())).toEqual([
      [200, { name: 'Monstera' }],
      [200, { data: ['the bed of gardener'] }],
      [401, expect.objectContaining({ statusCode: 401 })],
      ['PlantStorePlant', 'PlantStoreNewPlant', 'PlantStoreError'],
      [200, { name: 'Monstera' }],
      ['9007199254740993 Monstera of token-1'],
      [200, { name: 'Monstera' }],
    ]);
    expect(await running.stop()).toBe(0);
  });
});
