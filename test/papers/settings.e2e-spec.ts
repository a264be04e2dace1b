import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { parseConfiguration, VARIABLES } from '../../src/config/load-configuration.js';
import { Paper } from '../support/paper.js';
import { ROOT } from '../support/root.js';

const NAMES = [...VARIABLES].sort();
const DEFAULTS = parseConfiguration({});

describe('docs/configuration.md', () => {
  const documented = new Paper('docs/configuration.md').tableIn('Configuration');

  it('has exactly the variables that the service reads', () => {
    expect(documented.map(([name]) => name).sort()).toEqual(NAMES);
  });

  it.each(documented)('has the default of %s: %s', (name = '', value = '') => {
    const property = name.toLowerCase().replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
    // A variable that names a file with a secret has no property of its own.
    expect(property in DEFAULTS).toBe(!name.endsWith('DATABASE_URL_FILE'));
    const used: unknown = Object.entries(DEFAULTS).find(([key]) => key === property)?.[1] ?? '';

    if (value === 'none') expect(used).toHaveLength(0);
    else expect(parseConfiguration({ [name]: value })).toEqual(DEFAULTS);
  });
});

describe('.env.example', () => {
  const example = readFileSync(join(ROOT, '.env.example'), 'utf8');

  it('has exactly the variables that the service reads, with their defaults, as comments', () => {
    const names = [...example.matchAll(/^#([A-Z_]+)=/gm)].map(([, name]) => name);

    expect(names.sort()).toEqual(NAMES);
    expect(parseConfiguration(parseEnv(example.replace(/^#(?=\w+=.)/gm, '')))).toEqual(DEFAULTS);
    expect(parseEnv(example)).toEqual({});
  });
});
