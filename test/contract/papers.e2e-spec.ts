import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { Paper, ROOT } from '../support/paper.js';

const CONTRIBUTING = new Paper('CONTRIBUTING.md');

/** The documents of the repository. */
const PAPERS = ['.', 'docs', 'bench'].flatMap((directory) =>
  readdirSync(join(ROOT, directory))
    .filter((name) => name.endsWith('.md'))
    .map((name) => join(directory, name)),
);

/** Returns the anchors of a document's headings, as GitHub makes them. */
function anchorsOf(text: string): string[] {
  return [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\w\s-]/g, '')
      .replaceAll(' ', '-'),
  );
}

describe('CONTRIBUTING.md', () => {
  it('names functions and classes that exist', () => {
    const steps = [...CONTRIBUTING.section('The way of a request').matchAll(/`([\w./-]+\.ts):([#\w]+)`/g)];

    expect(steps.length).toBeGreaterThan(20);
    for (const [step, file = '', name = ''] of steps) {
      const text = readFileSync(join(ROOT, 'src', file), 'utf8');
      const declaration = new RegExp(`(?:^ +(?:override |async |readonly )*|(?:class|const|function) )${name}\\b`, 'm');
      expect([step, declaration.test(text)]).toEqual([step, true]);
    }
  });

  it('has a tree of paths that exist', () => {
    const paths: string[] = [];
    let directory = '';
    for (const line of CONTRIBUTING.blockIn('Where things are', 'text').split('\n')) {
      const [, indent = '', name = ''] = /^( *)(\S+)/.exec(line) ?? [];
      if (indent === '') directory = name;
      paths.push(indent === '' ? name : `${directory}${name}`);
    }

    expect(paths).toContain('src/main.ts');
    expect(paths.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  });

  it('has the use of each development dependency', () => {
    const { devDependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
      devDependencies: object;
    };
    const names = Object.keys(devDependencies).map((name) => name.replace(/^@types\/.*/, '@types/*'));

    expect(CONTRIBUTING.tableIn('Packages').map(([name]) => name)).toEqual([...new Set(names)]);
  });
});

describe.each(PAPERS)('%s', (file) => {
  it('has links to files and headings that exist', () => {
    const { text } = new Paper(file);
    const links = [...text.matchAll(/\]\((?!https?:)([^)\s#]*)(?:#([^)\s]+))?\)/g)];
    const broken = links.filter(([, path = '', anchor]) => {
      const target = path === '' ? file : relative(ROOT, join(ROOT, dirname(file), path));
      if (!existsSync(join(ROOT, target))) return true;
      return anchor !== undefined && !anchorsOf(new Paper(target).text).includes(anchor);
    });

    expect(broken.map(([link]) => link)).toEqual([]);
  });
});
