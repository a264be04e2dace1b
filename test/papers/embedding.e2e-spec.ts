import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as index from '../../src/index.js';
import type { PlantsModuleOptions } from '../../src/plants/plants.module-definition.js';
import { EXAMPLE, PackedPackage } from '../support/hosts/installation.js';
import { Paper } from '../support/paper.js';

const GUIDE = new Paper('docs/embedding.md');

/** A file for each name that a snippet exports: the last one has the snippet, and the others export what it exports. */
const FILES = Object.fromEntries(
  [...GUIDE.text.matchAll(/^```ts\n([^]*?)^```$/gm)].flatMap(([, text = '']) => {
    const names = [...text.matchAll(/^export (?:async )?(?:class|function|const) (\w+)/gm)].map(([, name = '']) =>
      name.replace(/(?<!^)[A-Z]/g, '-$&').toLowerCase(),
    );
    const last = names.at(-1);
    return names.map((name) => [name, name === last ? text : `export * from './${String(last)}.js';`]);
  }),
) as Record<string, string>;

describe('The guide to embedding', () => {
  const packed = new PackedPackage();
  const installation = packed.install('module', [
    '@nestjs/platform-express',
    '@nestjs/testing',
    '@photostructure/sqlite',
  ]);

  afterAll(() => packed.remove());

  it('begins with the example', () => {
    expect(GUIDE.text).toContain(`\`\`\`ts\n${readFileSync(EXAMPLE, 'utf8')}\`\`\``);
  });

  it('has snippets whose types are correct', () => {
    const sources = Object.entries(FILES).map(([name, text]) => [`${name}.ts`, text]);

    expect(sources.length).toBeGreaterThan(6);
    expect(installation.diagnose(Object.fromEntries(sources) as Record<string, string>)).toBe('');
  });

  it('has snippets that work', async () => {
    for (const [name, text] of Object.entries(FILES)) {
      const source = join(installation.directory, `${name}.ts`);
      writeFileSync(source, text);
      installation.compile(source, `${name}.js`);
    }
    installation.compile(join(import.meta.dirname, '../support/hosts/guide.ts'), 'guide.js');
    const running = installation.start(['guide.js']);

    expect(JSON.parse(await running.printed(/^(\[.*)\n/m))).toEqual([
      [200, { name: 'Monstera' }],
      [200, ['the bed of gardener']],
      [401, expect.objectContaining({ statusCode: 401 })],
      [200, { name: 'Monstera' }],
      ['9007199254740993 Monstera of token-1'],
      [200, { name: 'Monstera' }],
      [200, { name: 'Monstera' }],
      [true, false],
    ]);
    expect(await running.ended).toBe(0);
  });

  it('has the options that the module takes', () => {
    const options: Readonly<Record<keyof PlantsModuleOptions, true>> = {
      repository: true,
      authentication: true,
      scope: true,
      realm: true,
      body: true,
      database: true,
      onPlantCreated: true,
    };
    const names = GUIDE.tableIn('Options').map(([name = '']) => name.replaceAll('`', '').replace(/\..*/, ''));

    expect([...new Set(names)]).toEqual(Object.keys(options));
  });

  it('tells the use of each value that src/index.ts exports', () => {
    expect(Object.keys(index).filter((name) => !GUIDE.text.includes(name))).toEqual([]);
  });
});
