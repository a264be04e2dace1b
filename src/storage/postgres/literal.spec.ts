import pg from 'pg';
import { literal } from './literal.js';

describe('literal', () => {
  it.each([
    '',
    'Monstera',
    "'",
    "''",
    "it's 'here'",
    '\\',
    "\\'",
    "a\\'b\\\\c''",
    '$& $1 $$ $`',
    "$'",
    '\n\u{1fab4}\ud83e',
  ])('spells %j as the driver does', (text) => expect(literal(text)).toBe(pg.escapeLiteral(text)));

  it.each([65_535, 65_536, 65_537, 200_000])('spells a text of %s characters as the driver does', (length) => {
    const text = "\\'a\u{1fab4}".repeat(length).slice(1, length + 1);
    expect(literal(text) === pg.escapeLiteral(text)).toBe(true);
  });

  it.each([
    [null, 'NULL'],
    [-(2n ** 63n), "'-9223372036854775808'"],
  ])('spells %s', (value, spelled) => expect(literal(value)).toBe(spelled));
});
