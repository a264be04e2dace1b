import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { parseConfiguration } from '../../src/config/configuration.js';
import { Paper, ROOT } from '../support/paper.js';
import { variableNames } from '../support/variable-names.js';

describe('docs/configuration.md', () => {
  const documented = new Paper('docs/configuration.md').tableIn('Configuration');
  const defaults = parseConfiguration({});

  it('has exactly the variables that the service reads', () => {
    expect(documented.map(([name]) => name).sort()).toEqual(variableNames().sort());
  });

  it.each(documented.filter(([, value]) => value !== 'none'))('has the default of %s, %s', (name = '', value = '') => {
    expect(parseConfiguration({ [name]: value })).toEqual(defaults);
  });

  it.each(documented.filter(([, value]) => value === 'none'))('has no default for %s', (name = '') => {
    const property = name.toLowerCase().replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());

    // A variable that names a file with a secret has no property of its own.
    expect(property in defaults).toBe(!name.endsWith('DATABASE_URL_FILE'));
    expect(Object.entries(defaults).find(([key]) => key === property)?.[1] ?? '').toHaveLength(0);
  });
});

describe('.env.example', () => {
  const example = readFileSync(join(ROOT, '.env.example'), 'utf8');

  it('has exactly the variables that the service reads', () => {
    const names = [...example.matchAll(/^#([A-Z_]+)=/gm)].map(([, name]) => name);

    expect(names.sort()).toEqual(variableNames().sort());
  });

  it('has their defaults', () => {
    expect(parseConfiguration(parseEnv(example.replace(/^#(?=\w)/gm, '')))).toEqual(parseConfiguration({}));
  });

  it('changes nothing as it is', () => {
    expect(parseEnv(example)).toEqual({});
  });
});
