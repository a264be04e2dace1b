import type { StoredPlant } from '../../src/storage/plant-repository.js';

/** Texts that mean something to a format, a tool or a store. */
const TEXTS = [
  ...['', ' ', 'Monstera'],
  ...['"', '""', 'a "quoted" word', ',', "'"],
  ...['\r', '\n', '\r\n', 'a\nb\r\nc'],
  ...['\\.', 'a\n\\.\nb', '\\N', '\\n', 'NULL', 'null'],
  ...['\t', '\u0001\b\f\u001b\u001f\u007f'],
  ...['\u0301', 'e\u0301', '\ufeff', '\u2028\u2029', '\u200d\u202e', '\uffff', '\u{1fab4}', '\u{10ffff}'],
  ...['=1+1', '{"id":1}', 'id,name,tag'],
];

/** Plants with each of these texts as name and as tag, with the least and the greatest id, by ascending ids. */
export const HOSTILE_PLANTS: readonly StoredPlant[] = [
  { id: -(2n ** 63n), name: 'least' },
  ...TEXTS.flatMap((text, index) => [
    { id: BigInt(3 * index - 40), name: text },
    { id: BigInt(3 * index - 39), name: 'tagged', tag: text },
    { id: 9007199254740992n + BigInt(index), name: text, tag: text },
  ]),
  { id: 2n ** 63n - 1n, name: 'greatest', tag: '' },
].sort((one, other) => (one.id < other.id ? -1 : 1));
