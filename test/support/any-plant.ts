import fc from 'fast-check';

const MIN = -(2n ** 63n);
const MAX = 2n ** 63n - 1n;

export interface Plant {
  readonly id: bigint;
  readonly name: string;
  readonly tag: string | undefined;
}

/** Any character but U+0000 and the surrogates. The unit `binary` of fast-check takes a second of CPU to load. */
const anyCodePoint = fc
  .oneof(fc.integer({ min: 1, max: 0xd7ff }), fc.integer({ min: 0xe000, max: 0x10ffff }))
  .map((code) => String.fromCodePoint(code));

const anyCharacter = fc.oneof(
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 1 }),
  anyCodePoint,
  fc.constantFrom(...Array.from('"\\/\b\f\n\r\t\u0001\u001f\u007f\u2028\u2029\ufeff')),
  fc.constantFrom(...Array.from("\u0301\u200d\u202e\uffff\u{10000}\u{10ffff} '{},:")),
);

const anyText = fc.string({ unit: anyCharacter, maxLength: 12 });

const anyId = fc.oneof(
  fc.bigInt({ min: MIN, max: MAX }),
  fc.bigInt({ min: -1_000n, max: 1_000n }),
  fc
    .tuple(
      fc.constantFrom(MIN, -(2n ** 53n), -(2n ** 31n), 0n, 2n ** 31n, 2n ** 32n, 2n ** 53n, 10n ** 18n, MAX),
      fc.bigInt({ min: -3n, max: 3n }),
    )
    .map(([edge, distance]) => edge + distance)
    .filter((near) => near >= MIN && near <= MAX),
);

export const anyPlant: fc.Arbitrary<Plant> = fc.record({
  id: anyId,
  name: anyText,
  tag: fc.option(anyText, { nil: undefined }),
});
