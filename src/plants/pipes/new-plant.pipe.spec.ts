import { validateSync } from 'class-validator';
import fc from 'fast-check';
import { ContractException } from '../../contract/contract.exception.js';
import { NewPlantDto } from '../dto/plant.dto.js';
import { exactInteger } from './exact-json.js';
import { NewPlantPipe } from './new-plant.pipe.js';

const MEBIBYTE = 1_048_576;
const FIELDS = ['id', 'name', 'tag'] as const;

/** The result of reading a body: a plant, or an error with the fields that its message names. */
type Reading =
  | { readonly id: bigint; readonly name: string; readonly tag: string | undefined }
  | { readonly error: number; readonly named: readonly string[] };

const pipe = new NewPlantPipe();

function readingOf(body: string | Uint8Array): Reading {
  try {
    const plant = pipe.transform(Buffer.from(body));
    expect(plant).toBeInstanceOf(NewPlantDto);
    return { id: plant.id, name: plant.name, tag: plant.tag };
  } catch (error) {
    if (!(error instanceof ContractException)) throw error;
    return { error: error.error, named: error.error === 422 ? fieldsIn(error.message) : [] };
  }
}

function fieldsIn(message: string): string[] {
  return FIELDS.filter((field) => new RegExp(`\\b${field}\\b`).test(message));
}

/** The oracle: JSON.parse, with the top-level names and the first tokens of their values. */
function expectedOf(body: Uint8Array): Reading {
  let text: string;
  let parsed: unknown;
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body);
    parsed = JSON.parse(text);
  } catch {
    return { error: 400, named: [] };
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) return { error: 422, named: [...FIELDS] };
  const members = topLevelTokens(text).filter(([name]) => FIELDS.some((field) => field === name));
  const tokens = new Map(members);
  if (tokens.size < members.length) return { error: 400, named: [] };
  const { name, tag } = parsed as Record<string, unknown>;
  const id = exactInteger(tokens.get('id') ?? '');
  const isRight = {
    id: id !== undefined && BigInt.asIntN(64, id) === id,
    name: isText(name),
    tag: tag === undefined || isText(tag),
  };
  const named = FIELDS.filter((field) => !isRight[field]);
  return named.length > 0 ? { error: 422, named } : ({ id, name, tag } as Reading);
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

const blanks = fc.string({ unit: fc.constantFrom(' ', '\t', '\r', '\n'), maxLength: 2 });

/** Strings, a few of which are not JSON or not text. */
const strings = fc
  .array(
    fc.oneof(
      {
        weight: 80,
        arbitrary: fc.constantFrom('a', '{', '}', ',', ':', '\\"', '\\\\', '\\/', '\\n', '\u00e9', '\u{1fab4}'),
      },
      { weight: 40, arbitrary: fc.constantFrom('\\u0069', '\\u00E9', '\\ud83e\\udeb4', '\ufeff', '\u007f', '\u2028') },
      { weight: 1, arbitrary: fc.constantFrom('\\u0000', '\\ud83e', '\\udeb4') },
      { weight: 1, arbitrary: fc.constantFrom('"', '\\', '\\x', '\\u12', '\n', '\0', '\u001f') },
    ),
    { maxLength: 6 },
  )
  .map((parts) => `"${parts.join('')}"`);

/** Numbers, a few of which are not JSON or not int64. */
const numbers = fc.oneof(
  { weight: 9, arbitrary: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String) },
  { weight: 9, arbitrary: fc.constantFrom('7', '-7', '-0', '7.0', '7e3', '70e-1', '0.7E+1', '9007199254740993') },
  { weight: 2, arbitrary: fc.constantFrom('9223372036854775807', '-9223372036854775808', '9223372036854775808') },
  { weight: 1, arbitrary: fc.constantFrom('1.5', '1e400', '1e-1', '1e999999999999999999', '0e999999999999999999') },
  { weight: 1, arbitrary: fc.constantFrom('+7', '07', '7.', '.7', '-', '7e', '0x7', 'NaN', 'Infinity') },
);

const json = fc.oneof(fc.json({ maxDepth: 3, stringUnit: 'binary' }), strings, numbers, nested());

function nested(): fc.Arbitrary<string> {
  return fc
    .tuple(
      fc.constantFrom(['[', ']'], ['{"id":', '}'], ['[{"name":', '}]']),
      fc.nat(300),
      fc.constantFrom('0', '{}', '"]"'),
    )
    .map(([[opening = '', closing = ''], depth, core]) => opening.repeat(depth) + core + closing.repeat(depth));
}

/** Members that form a plant in most cases, and other members. */
const members = fc
  .tuple(
    fc.tuple(fc.constantFrom('"id"', '"\\u0069d"'), numbers),
    fc.tuple(fc.constantFrom('"name"', '"n\\u0061me"'), strings),
    fc.array(
      fc.oneof(
        { weight: 4, arbitrary: fc.tuple(fc.constantFrom('"tag"', '"t\\u0061g"'), strings) },
        { weight: 6, arbitrary: fc.tuple(fc.oneof(strings, fc.constantFrom('"__proto__"', '"x"')), json) },
        { weight: 1, arbitrary: fc.tuple(fc.constantFrom('"id"', '"name"', '"tag"', '"ta\\u0067"'), strings) },
      ),
      { maxLength: 4 },
    ),
  )
  .chain(([id, name, others]) => fc.shuffledSubarray([id, name, ...others], { minLength: 1 + others.length }));

/** Objects, most of them JSON, many of them plants. */
const objects = fc.tuple(members, fc.array(blanks, { minLength: 1, maxLength: 5 })).map(([drawn, spaces]) => {
  const tokens = [
    '{',
    ...drawn.flatMap(([name, value], index) => [...(index > 0 ? [','] : []), name, ':', value]),
    '}',
  ];
  return tokens.map((token, index) => token + (spaces[index % spaces.length] ?? '')).join('');
});

/** A byte that is common in JSON, or any byte. */
const bytes = fc.oneof(fc.constantFrom(...Buffer.from('{}[]",:\\/0123456789-+.eE \t\n\r\0untrfalsid')), fc.nat(0xff));

/** Changes to a body: at a place, which is taken modulo its length, some bytes go, and others come. */
const changes = fc.record({
  place: fc.nat(0xffff),
  removed: fc.nat(8),
  inserted: fc.array(bytes, { maxLength: 3 }),
});

type Change = typeof changes extends fc.Arbitrary<infer Drawn> ? Drawn : never;

function changed(body: Uint8Array, { place, removed, inserted }: Change): Uint8Array {
  const from = body.length === 0 ? 0 : place % body.length;
  return Buffer.concat([body.subarray(0, from), Buffer.from(inserted), body.subarray(from + removed)]);
}

/** Plants, other JSON, and plants with changed bytes. */
const bodies = fc.oneof(
  objects.map((text) => Buffer.from(text)),
  json.map((text) => Buffer.from(text)),
  fc
    .tuple(objects, fc.array(changes, { minLength: 1, maxLength: 2 }))
    .map(([text, drawn]) => drawn.reduce<Uint8Array>(changed, Buffer.from(text))),
);

describe('NewPlantPipe', () => {
  it.each<[string, Reading]>([
    ['{"__proto__":{"id":1,"name":"no","tag":"no"},"id":2,"name":"yes"}', { id: 2n, name: 'yes', tag: undefined }],
    ['{"__proto__":{"id":1,"name":"no"}}', { error: 422, named: ['id', 'name'] }],
    ['{"id":1.5,"id":1.5,"name":null}', { error: 400, named: [] }],
  ])('reads %j', (body, reading) => {
    expect(readingOf(body)).toEqual(reading);
  });

  it('reads a view of a larger buffer', () => {
    const around = Buffer.from('\xff{"id":1,"name":"Monstera"}\xff', 'latin1');

    expect(pipe.transform(around.subarray(1, -1))).toMatchObject({ id: 1n, name: 'Monstera' });
    expect(pipe.transform(new Uint8Array(around).subarray(1, -1))).toMatchObject({ id: 1n, name: 'Monstera' });
  });

  it('reads any bytes as JSON.parse does, except exact ids and repeated fields', () => {
    fc.assert(
      fc.property(bodies, (body) => {
        expect(readingOf(body)).toEqual(expectedOf(body));
      }),
      { numRuns: 10_000 },
    );
  });

  it('accepts what class-validator accepts, and refuses what it refuses', () => {
    const text = fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('\0', '\ud800', undefined, null, 7));
    const id = fc.oneof(fc.bigInt(), fc.bigInt({ min: -(2n ** 64n), max: 2n ** 64n }), fc.constantFrom('7', undefined));
    fc.assert(
      fc.property(fc.record({ id, name: text, tag: text }), (fields) => {
        const isValid = validateSync(Object.assign(new NewPlantDto(), fields)).length === 0;

        if (isValid) expect(pipe.transform(fields)).toEqual(fields);
        else expect(() => pipe.transform(fields)).toThrow(ContractException);
      }),
    );
  });

  // With quadratic cost or recursion, these tests would not end.
  describe('finds the plant behind a mebibyte', () => {
    const arrays = '['.repeat(MEBIBYTE / 2) + ']'.repeat(MEBIBYTE / 2);

    it.each([
      { what: 'members', others: `${'"a":0,'.repeat(MEBIBYTE / 6)}"b":0` },
      { what: 'names with escapes', others: `${'"\\u0069\\u0064 ":0,'.repeat(MEBIBYTE / 17)}"b":0` },
      { what: 'backslashes', others: `"a":"${'\\'.repeat(MEBIBYTE)}"` },
      { what: 'escaped quotes', others: `"a":"${'\\"'.repeat(MEBIBYTE / 2)}"` },
      { what: 'white space', others: `${' '.repeat(MEBIBYTE)}"a":0` },
      { what: 'arrays in arrays', others: `"a":${arrays}` },
      { what: 'objects in objects', others: `"a":${'{"a":'.repeat(MEBIBYTE / 6)}0${'}'.repeat(MEBIBYTE / 6)}` },
    ])('of $what', ({ others }) => {
      expect(readingOf(`{${others},"id":7,"name":"Monstera"}`)).toEqual({ id: 7n, name: 'Monstera', tag: undefined });
    });
  });

  it.each([
    {
      what: 'digits as an id',
      body: `{"id":${'7'.repeat(MEBIBYTE)},"name":""}`,
      reading: { error: 422, named: ['id'] },
    },
    { what: 'arrays without an end', body: '['.repeat(MEBIBYTE), reading: { error: 400, named: [] } },
    { what: 'backslashes without an end', body: `"${'\\'.repeat(MEBIBYTE)}`, reading: { error: 400, named: [] } },
  ])('refuses a mebibyte of $what', ({ body, reading }) => {
    expect(readingOf(body)).toEqual(reading);
  });
});
