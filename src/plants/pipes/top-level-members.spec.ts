import fc from 'fast-check';
import { visitTopLevelMembers } from './top-level-members.js';

const MEBIBYTE = 1_048_576;

function membersOf(json: string): [name: string, value: string][] {
  const members: [string, string][] = [];
  visitTopLevelMembers(json, (name, value) => members.push([name, value]));
  return members;
}

/** The source text of a string, with characters that could be mistaken for structure. */
const strings = fc
  .array(
    fc.oneof(
      fc.constantFrom('\\"', '\\\\', '\\/', '\\n', '\\u0022', '\\u005C', '\\ud83e\\uDEB4', '\\ud800', '\\u0000'),
      fc.constantFrom('{', '}', '[', ']', ',', ':', ' ', 'id', '\u00a0', '\u2028', '\ufeff', '\u{1fab4}'),
    ),
    { maxLength: 8 },
  )
  .map((parts) => `"${parts.join('')}"`);

const blanks = fc.string({ unit: fc.constantFrom(' ', '\t', '\r', '\n'), maxLength: 2 });

/** A list in these brackets, with white space wherever JSON allows it. */
function listOf(items: fc.Arbitrary<string>, opening: string, closing: string): fc.Arbitrary<string> {
  return fc
    .tuple(fc.array(fc.tuple(blanks, items, blanks), { maxLength: 4 }), blanks)
    .map(([parts, blank]) => opening + (parts.map((part) => part.join('')).join(',') || blank) + closing);
}

const { value: values } = fc.letrec<{ value: string; member: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, depthSize: 'small' },
    fc.constantFrom('0', '-1.50e+07', 'true', 'false', 'null'),
    strings,
    listOf(tie('value'), '[', ']'),
    listOf(tie('member'), '{', '}'),
  ),
  member: fc
    .tuple(strings, blanks, blanks, tie('value'))
    .map(([name, one, two, value]) => `${name}${one}:${two}${value}`),
}));

describe('visitTopLevelMembers', () => {
  it.each<[json: string, members: [string, string][]]>([
    ['{}', []],
    [' \t\r\n{ \t\r\n} \t\r\n', []],
    ['{"id":7}', [['id', '7']]],
    ['\n{\t"id"\r:\n7 }\n', [['id', '7']]],
    [
      '{"id":9007199254740993,"name":"Monstera"}',
      [
        ['id', '9007199254740993'],
        ['name', '"Monstera"'],
      ],
    ],
    [
      '{"id":1,"id":2}',
      [
        ['id', '1'],
        ['id', '2'],
      ],
    ],
    ['{"\\u0069d":7}', [['id', '7']]],
    [
      '{"":"","\\"":"\\""}',
      [
        ['', '""'],
        ['"', '"\\""'],
      ],
    ],
    [
      '{"a":"\\\\","b":"\\\\\\""}',
      [
        ['a', '"\\\\"'],
        ['b', '"\\\\\\""'],
      ],
    ],
    [
      '{"a":"}","b":",\\"id\\":7"}',
      [
        ['a', '"}"'],
        ['b', '",\\"id\\":7"'],
      ],
    ],
    [
      '{"a":[ {"id":1} , "]" ] ,"b":{"id": {} }}',
      [
        ['a', '[ {"id":1} , "]" ]'],
        ['b', '{"id": {} }'],
      ],
    ],
    [
      '{"__proto__":{"id":1},"constructor":null}',
      [
        ['__proto__', '{"id":1}'],
        ['constructor', 'null'],
      ],
    ],
  ])('goes through %j', (json, members) => {
    expect(membersOf(json)).toEqual(members);
  });

  it('passes the source text of each member without the white space around it', () => {
    const members = fc.array(
      fc.record({ name: strings, value: values, around: fc.tuple(blanks, blanks, blanks, blanks) }),
      {
        maxLength: 6,
      },
    );
    fc.assert(
      fc.property(members, blanks, blanks, (drawn, before, after) => {
        const written = drawn.map(
          ({ name, value, around: [one, two, three, four] }) => `${one}${name}${two}:${three}${value}${four}`,
        );

        expect(membersOf(`${before}{${written.join(',') || before}}${after}`)).toEqual(
          drawn.map(({ name, value }) => [JSON.parse(name) as unknown, value]),
        );
      }),
      { numRuns: 3_000 },
    );
  });

  it('finds every member that JSON.parse finds', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue({ stringUnit: 'binary' })), (drawn) => {
        const json = JSON.stringify(drawn, null, 1);
        const members = membersOf(json).map(([name, value]) => [name, JSON.parse(value) as unknown] as const);

        expect(Object.fromEntries(members)).toEqual(JSON.parse(json));
      }),
      { numRuns: 500 },
    );
  });

  // With quadratic cost or recursion, these tests would not end.
  it.each([
    ['backslashes', `"${'\\'.repeat(MEBIBYTE)}"`],
    ['escaped quotes', `"${'\\"'.repeat(MEBIBYTE / 2)}"`],
    ['quotes after backslashes', `"${'\\\\\\"'.repeat(MEBIBYTE / 4)}"`],
    ['characters', `"${'x'.repeat(MEBIBYTE)}"`],
    ['arrays in arrays', '['.repeat(MEBIBYTE / 2) + ']'.repeat(MEBIBYTE / 2)],
    ['objects in objects', `${'{"":'.repeat(MEBIBYTE / 5)}0${'}'.repeat(MEBIBYTE / 5)}`],
    ['strings in an array', `["${'","'.repeat(MEBIBYTE / 3)}"]`],
    ['members in an object', `{${'"a":0,'.repeat(MEBIBYTE / 6)}"a":0}`],
    ['digits', `1${'0'.repeat(MEBIBYTE)}`],
    ['white space in an array', `[${' '.repeat(MEBIBYTE)}]`],
  ])('takes no more time than it must for a value that is a mebibyte of %s', (_what, value) => {
    const members = membersOf(`{"a":${value},"b":0}`);

    expect(members.map(([name]) => name)).toEqual(['a', 'b']);
    // Not toEqual, which would compute the differences of a mebibyte.
    expect(members[0]?.[1] === value).toBe(true);
  });

  it.each([
    ['members', `{${'"a":0,'.repeat(MEBIBYTE / 6)}"a":0}`, Math.floor(MEBIBYTE / 6) + 1],
    ['members with strings', `{${'"a":"",'.repeat(MEBIBYTE / 7)}"a":""}`, Math.floor(MEBIBYTE / 7) + 1],
    [
      'white space',
      `${' '.repeat(MEBIBYTE)}{${' '.repeat(MEBIBYTE)}"a"${' '.repeat(MEBIBYTE)}:0${' '.repeat(MEBIBYTE)}}`,
      1,
    ],
    ['a name', `{"${'\\"'.repeat(MEBIBYTE / 2)}":0}`, 1],
  ])('takes no more time than it must for a mebibyte of %s', (_what, json, count) => {
    expect(membersOf(json)).toHaveLength(count);
  });
});
