import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './root.js';

/** A document of the repository, whose sections a test compares with the code. */
export class Paper {
  readonly text: string;

  /** @param file its path in the repository */
  constructor(private readonly file: string) {
    this.text = readFileSync(join(ROOT, file), 'utf8');
  }

  /** Returns the text from a heading to the next one of any level. */
  section(heading: string): string {
    // A comment of a shell script within a block of code is no heading.
    const withoutCode = this.text.replace(/^```[^]*?^```$/gm, (block) => block.replace(/^#/gm, '\0'));
    const found = withoutCode.split(/^#+ /m).find((candidate) => candidate.startsWith(`${heading}\n`));
    if (found === undefined) throw new Error(`${this.file} has no section "${heading}"`);
    return found.replaceAll('\0', '#');
  }

  /** Returns the rows of a section's first table, without its header, and each cell without its backticks. */
  tableIn(heading: string): string[][] {
    const [, , ...rows] = (/(?:^\|.*\n)+/m.exec(this.section(heading))?.[0] ?? '').trimEnd().split('\n');
    return rows.map((row) =>
      row
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim().replace(/^`([^`]*)`$/, '$1')),
    );
  }

  /** Returns the code blocks of a language in a section. */
  blocksIn(heading: string, language: string): string[] {
    const blocks = this.section(heading).matchAll(new RegExp(`^\`\`\`${language}\n([^]*?)\n\`\`\`$`, 'gm'));
    return [...blocks].map(([, block = '']) => block);
  }

  /** Returns the first code block of a language in a section. */
  blockIn(heading: string, language: string): string {
    const [block] = this.blocksIn(heading, language);
    if (block === undefined) throw new Error(`${this.file} has no ${language} in the section "${heading}"`);
    return block;
  }
}
