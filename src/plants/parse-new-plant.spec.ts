import fc from 'fast-check';
import { RUNS } from '../../test/support/runs.js';
import { ContractException } from '../contract/contract.exception.js';
import { NewPlantDto } from './dto/plant.dto.js';
import { exactInteger } from './exact-json.js';
import { parseNewPlant } from './parse-new-plant.js';

const MEBIBYTE = 1_048_576;
const FIELDS = ['id', 'name', 'tag'];

/** The result of reading a body. */
type Reading = { readonly id: bigint; readonly name: unknown; readonly tag: unknown } | { readonly error: number };

function readingOf(body: string | Uint8Array): Reading {
  try {
    const plant = parseNewPlant(Buffer.from(body));
    expect(plant).toBeInstanceOf(NewPlantDto);
    return { id: plant.id, name: plant.name, tag: plant.tag };
  } catch (error) {
    if (!(error instanceof ContractException)) throw error;
    return { error: error.error };
  }
}

/** The oracle: JSON.parse, with the top-level names and the first tokens of their values. */
function expectedOf(body: Uint8Array): Reading {
  let text: string;
  let parsed: unknown;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(body);
    parsed = JSON.parse(text);
  } catch {
    return { error: 400 };
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) return { error: 422 };
  const members = topLevelTokens(text).filter(([name]) => FIELDS.includes(name));
  const tokens = new Map(members);
  if (tokens.size < members.length) return { error: 400 };
  const { name, tag } = parsed as Record<string, unknown>;
  const id = exactInteger(tokens.get('id') ?? '');
  const hasId = id !== undefined && BigInt.asIntN(64, id) === id;
  return hasId && isText(name) && (tag === undefined || isText(tag)) ? { id, name, tag } : { error: 422 };
}

function topLevelTokens(json: string): [name: string, token: string][] {
  const tokens = json.match(/"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s"{}[\],:]+/g) ?? [];
  let depth = 0;
  return tokens.flatMap((token, index): [string, string][] => {
    if (token === '{' || token === '[') depth += 1;
    if (token === '}' || token === ']') depth -= 1;
    if (token !== ':' || depth !== 1) return [];
    return [[JSON.parse(tokens[index - 1] ?? '') as string, tokens[index + 1] ?? '']];
  });
}

function isText(value: unknown): boolean {
  // An unpaired surrogate does not survive encoding as UTF-8.
  return typeof value === 'string' && !value.includes('\0') && Buffer.from(value).toString() === value;
}

/** Strings, some of which are not JSON or not text. */
const strings = fc
  .array(
    fc.oneof(
      { weight: 40, arbitrary: fc.constantFrom('a', '{', '}', ',', ':', '\\"', '\\\\', '\\n', '\u00e9', '\u{1fab4}') },
      { weight: 20, arbitrary: fc.constantFrom('\\u0069', '\\u00E9', '\\ud83e\\udeb4', '\ufeff', '\u007f', '\u2028') },
      {
        weight: 1,
        arbitrary: fc.constantFrom('\\u0000', '\\ud83e', '\\udeb4', '"', '\\', '\\x', '\\u12', '\n', '\0', '\u001f'),
      },
    ),
    { maxLength: 6 },
  )
  .map((parts) => `"${parts.join('')}"`);

/** Numbers, some of which are not JSON or not int64. */
const numbers = fc.oneof(
  { weight: 9, arbitrary: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String) },
  { weight: 9, arbitrary: fc.constantFrom('7', '-7', '-0', '7.0', '7e3', '70e-1', '0.7E+1', '9007199254740993') },
  { weight: 2, arbitrary: fc.constantFrom('9223372036854775807', '9223372036854775808', '1.5', '1e400', '1e-1') },
  { weight: 1, arbitrary: fc.constantFrom('+7', '07', '7.', '.7', '-', '7e', '0x7', 'NaN', 'Infinity') },
);

const values = fc.oneof(fc.json({ maxDepth: 3, stringUnit: 'binary' }), strings, numbers);

/** A member with one of these names, and blanks around its tokens. */
function member(names: readonly string[], value: fc.Arbitrary<string>): fc.Arbitrary<string> {
  const blank = fc.constantFrom('', ' ', '\t', '\r\n');
  return fc.tuple(fc.constantFrom(...names), value, blank).map(([name, drawn, space]) => {
    return [space, name, space, ':', space, drawn, space].join('');
  });
}

/** Objects, most of which are JSON, and many of them plants. */
const objects = fc
  .tuple(
    member(['"id"', '"\\u0069d"'], numbers),
    member(['"name"', '"n\\u0061me"'], strings),
    fc.array(
      fc.oneof(
        { weight: 4, arbitrary: member(['"tag"', '"t\\u0061g"'], strings) },
        { weight: 6, arbitrary: member(['"__proto__"', '"x"', '"\\\\"'], values) },
        { weight: 1, arbitrary: member(['"id"', '"name"', '"ta\\u0067"'], strings) },
      ),
      { maxLength: 4 },
    ),
  )
  .chain(([id, name, others]) => fc.shuffledSubarray([id, name, ...others], { minLength: 1 + others.length }))
  .map((members) => Buffer.from(`{${members.join(',')}}`));

/** A byte that is common in JSON, or any byte. */
const bytes = fc.oneof(fc.constantFrom(...Buffer.from('{}[]",:\\/0123456789-+.eE \t\n\r\0untrfalsid')), fc.nat(0xff));

/** Objects where some bytes at a place, which is taken modulo the length, were replaced by others. */
const damaged = fc
  .tuple(objects, fc.nat(0xffff), fc.nat(8), fc.array(bytes, { maxLength: 3 }))
  .map(([object, place, removed, inserted]) => {
    const from = place % object.length;
    return Buffer.concat([object.subarray(0, from), Buffer.from(inserted), object.subarray(from + removed)]);
  });

const bodies = fc.oneof(
  objects,
  values.map((text) => Buffer.from(text)),
  damaged,
);

describe('parseNewPlant', () => {
  it('reads a view of a larger buffer', () => {
    const around = Buffer.from('\xff{"id":1,"name":"Monstera"}\xff', 'latin1');

    expect(parseNewPlant(around.subarray(1, -1))).toMatchObject({ id: 1n, name: 'Monstera' });
    expect(parseNewPlant(new Uint8Array(around).subarray(1, -1))).toMatchObject({ id: 1n, name: 'Monstera' });
  });

  it('reads any bytes as JSON.parse does, except exact ids and repeated fields', () => {
    fc.assert(
      fc.property(bodies, (body) => {
        expect(readingOf(body)).toEqual(expectedOf(body));
      }),
      { numRuns: 2_000 * RUNS },
    );
  });

  // With quadratic cost or recursion, these tests would not end.
  describe('finds the plant behind a mebibyte', () => {
    const arrays = '['.repeat(MEBIBYTE / 2) + ']'.repeat(MEBIBYTE / 2);

    it.each([
      { what: 'names with escapes', others: `${'"\\u0069\\u0064 ":0,'.repeat(MEBIBYTE / 17)}"b":0` },
      { what: 'escaped quotes', others: `"a":"${'\\"'.repeat(MEBIBYTE / 2)}"` },
      { what: 'white space', others: `${' '.repeat(MEBIBYTE)}"a":0` },
      { what: 'arrays in arrays', others: `"a":${arrays}` },
    ])('of $what', ({ others }) => {
      expect(readingOf(`{${others},"id":7,"name":"Monstera"}`)).toEqual({ id: 7n, name: 'Monstera', tag: undefined });
    });
  });
});
