import { Readable } from 'node:stream';
import fc from 'fast-check';
import { anyPlant } from '../../../test/support/any-plant.js';
import { RUNS } from '../../../test/support/runs.js';
import type { StoredPlant } from '../../storage/plant-repository.js';
import { encodePlants, type Format, FORMATS, HEADERS } from './formats.js';
import { readCsv } from './read-csv.js';
import { readNdjson } from './read-ndjson.js';
import { decodeUtf8, type Row } from './rows.js';

/** Reads a file that arrives in chunks of this size. */
async function read(format: Format, file: string | Buffer, chunkSize = 65_536): Promise<Row[]> {
  const bytes = Buffer.from(file);
  const chunks: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += chunkSize) chunks.push(bytes.subarray(at, at + chunkSize));
  const texts = decodeUtf8(Readable.from(chunks));
  const rows: Row[] = [];
  for await (const row of format === 'csv' ? readCsv(texts, () => undefined) : readNdjson(texts)) rows.push(row);
  return rows;
}

function plantOf(row: Row): unknown {
  return 'plant' in row ? { ...row.plant } : row;
}

/** Texts that look like the syntax around them. */
const hostileText = fc.oneof(
  anyPlant.map(({ name }) => name),
  fc
    .array(
      fc.constantFrom('"', '""', ',', ';', '\r', '\n', '\r\n', '\\.', '\\', 'a', ' ', '\u0301', '\u{1fab4}', '\ufeff'),
    )
    .map((parts) => parts.join('')),
);

const plants = fc.array(
  fc.record({
    id: anyPlant.map(({ id }) => id),
    name: hostileText,
    tag: fc.option(hostileText, { nil: undefined }),
  }),
  { maxLength: 6 },
);

describe.each(FORMATS)('%s', (format) => {
  it('is read as the plants that were written, in chunks of any size', async () => {
    await fc.assert(
      fc.asyncProperty(plants, fc.integer({ min: 1, max: 50 }), async (written: readonly StoredPlant[], chunkSize) => {
        const rows = await read(format, HEADERS[format] + encodePlants(written, format), chunkSize);

        expect(rows.map(plantOf)).toEqual(written);
      }),
      { numRuns: 300 * RUNS },
    );
  });

  it('may begin with a byte order mark, end lines with CRLF, and have blank lines', async () => {
    const file = `\ufeff${HEADERS[format]}${encodePlants([{ id: 1n, name: 'é' }], format).trim()}\r\n\r\n\n`;

    const rows = await read(format, file, 3);

    expect(rows.map(plantOf)).toEqual([{ id: 1n, name: 'é' }]);
    expect(rows[0]?.place).toBe(format === 'csv' ? 'row 2' : 'line 1');
  });

  it('is refused in another encoding than UTF-8, because U+FFFD would replace letters', async () => {
    const file = HEADERS[format] + encodePlants([{ id: 1n, name: 'é' }], format);

    for (const encoding of ['latin1', 'utf16le'] as const) {
      const bytes = Buffer.concat([
        Buffer.from(encoding === 'utf16le' ? [0xff, 0xfe] : []),
        Buffer.from(file, encoding),
      ]);
      await expect(read(format, bytes)).rejects.toThrow('the file is not UTF-8');
    }
  });

  it('is refused if it ends in the middle of a character', async () => {
    const file = HEADERS[format] + encodePlants([{ id: 1n, name: 'Foug' }], format).trimEnd();

    await expect(read(format, Buffer.from([...Buffer.from(file), 0xc3]))).rejects.toThrow('the file is not UTF-8');
  });
});
