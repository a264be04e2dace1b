import { existsSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Paper } from '../support/paper.js';
import { ROOT } from '../support/root.js';

const CONTRIBUTING = new Paper('CONTRIBUTING.md');

/** The documents of the repository. */
const PAPERS = ['.', '.ci', 'docs', 'bench', 'test/support'].flatMap((directory) =>
  readdirSync(join(ROOT, directory))
    .filter((name) => name.endsWith('.md'))
    .map((name) => join(directory, name)),
);

/** Returns the anchors of a document's headings, as GitHub makes them. */
function anchorsOf(file: string): string[] {
  const headings = [...new Paper(file).text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => heading.toLowerCase());
  return headings.map((heading) => heading.replace(/[^\w\s-]/g, '').replaceAll(' ', '-'));
}

describe('CONTRIBUTING.md', () => {
  it('takes a request through files that exist, and names no other files', () => {
    const way = CONTRIBUTING.section('The way of a request');
    const onTheWay = [...way.matchAll(/`([\w./-]+\.ts)`/g)].map(([, file]) => `src/${file}`);
    const elsewhere = [...CONTRIBUTING.text.matchAll(/`((?:src|test|docs)\/[\w./-]+)`/g)].map(([, path = '']) => path);

    expect(way.match(/^\d+\. `/gm)).toHaveLength(14);
    expect(elsewhere).toContain('src/config/configuration.ts');
    expect([...onTheWay, ...elsewhere].filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
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
});

describe.each(PAPERS)('%s', (file) => {
  it('has links to files and headings that exist', () => {
    const links = [...new Paper(file).text.matchAll(/\]\((?!https?:)([^)\s#]*)(?:#([^)\s]+))?\)/g)];
    const broken = links.filter(([, path, anchor]) => {
      const target = path ? join(dirname(file), path) : file;
      return !existsSync(join(ROOT, target)) || (anchor !== undefined && !anchorsOf(target).includes(anchor));
    });

    expect(broken.map(([link]) => link)).toEqual([]);
  });
});
