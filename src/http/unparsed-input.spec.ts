import { type Part, UnparsedInput } from './unparsed-input.js';

const HEAD = 'POST /plants HTTP/1.1\r\nHost: localhost\r\n\r\n';
const TINY_CHUNK = '1\r\nx\r\n';

describe('UnparsedInput', () => {
  let input: UnparsedInput;

  beforeEach(() => {
    input = new UnparsedInput();
  });

  function takeLength(part: Part): number | undefined {
    return input.take(part)?.length;
  }

  it.each<[string, Part, string, number]>([
    ['a short packet', 'head', HEAD, HEAD.length],
    ['the head of many requests', 'head', HEAD.repeat(100), HEAD.length],
    ['a head that goes on', 'head', HEAD.slice(0, -2) + 'A: b\r\n'.repeat(500), 3_040],
    ['the whole of a body', 'body', 'x'.repeat(60_000), 60_000],
    ['the end of a body', 'body', `${'x'.repeat(1_000)}${HEAD.repeat(100)}`, 1_000 + HEAD.length],
    ['large chunks', 'chunks', `fa00\r\n${'x'.repeat(0xfa00)}\r\n`, 0xfa00 + 8],
    ['a few tiny chunks', 'chunks', TINY_CHUNK.repeat(1_000), 8 * TINY_CHUNK.length],
    ['more of them in a turn', 'chunks in turn', TINY_CHUNK.repeat(1_000), 128 * TINY_CHUNK.length],
    ['a small chunked body that is not read', 'unread chunks', TINY_CHUNK.repeat(50), 50 * TINY_CHUNK.length],
  ])('hands over %s', (_what, part, text, length) => {
    input.add(Buffer.from(text));

    expect(takeLength(part)).toBe(length);
  });

  it('keeps a large chunked body that is not read', () => {
    input.add(Buffer.from(TINY_CHUNK.repeat(1_000)));

    expect(input.take('unread chunks')).toBeUndefined();
    expect(input.isEmpty).toBe(false);
  });

  it('hands over all that it got, in order', () => {
    const text = `${HEAD.repeat(30)}${TINY_CHUNK.repeat(2_000)}`;
    for (let start = 0; start < text.length; start += 1_000) input.add(Buffer.from(text.slice(start, start + 1_000)));
    let taken = '';
    for (let portion = input.take('head'); portion !== undefined; portion = input.take('chunks')) {
      taken += portion.toString();
    }

    expect(taken).toBe(text);
    expect(input.isEmpty).toBe(true);
    expect(input.cost).toBe(0);
  });

  it('counts the memory behind a packet until all of it is handed over', () => {
    const packet = Buffer.from(new ArrayBuffer(65_536), 0, 20 * HEAD.length);
    packet.write(HEAD.repeat(20));
    input.add(packet);
    const { cost } = input;
    expect(cost).toBeGreaterThan(65_536);

    input.take('head');
    expect(input.cost).toBe(cost);
    while (!input.isEmpty) input.take('body');
    expect(input.cost).toBe(0);
  });

  it('is empty when it is cleared', () => {
    input.add(Buffer.from(HEAD));
    input.clear();

    expect(input.isEmpty).toBe(true);
    expect(input.cost).toBe(0);
    expect(input.take('head')).toBeUndefined();
  });
});
