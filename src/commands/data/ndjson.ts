import { NewPlantPipe } from '../../plants/pipes/new-plant.pipe.js';
import { type Row, tooLong, toRow } from './rows.js';

const LINE_FEED = 0x0a;
const SPACE = 0x20;

const pipe = new NewPlantPipe();

/**
 * Reads each line as a body of `POST /plants`, and yields the rows of each chunk. Blank lines are ignored. Lines end at LF
 * alone: readline also splits at CR and U+2028, which a text may have.
 */
export async function* readNdjson(input: AsyncIterable<Buffer>, maxLength: number): AsyncGenerator<Row[]> {
  let line = 0;
  let rest = Buffer.alloc(0);
  for await (const chunk of input) {
    const bytes = Buffer.concat([rest, chunk]);
    const rows: Row[] = [];
    let start = 0;
    for (let end = bytes.indexOf(LINE_FEED); end !== -1; end = bytes.indexOf(LINE_FEED, start)) {
      line += 1;
      addRow(rows, line, bytes.subarray(start, end), maxLength);
      start = end + 1;
    }
    // One byte more than the maximum is enough to reject the row.
    rest = bytes.subarray(start, start + maxLength + 1);
    yield rows;
  }
  const rows: Row[] = [];
  addRow(rows, line + 1, rest, maxLength);
  yield rows;
}

/** Adds the row of a line that is not blank. */
function addRow(rows: Row[], line: number, bytes: Buffer, maxLength: number): void {
  if (bytes.length > maxLength) rows.push(tooLong(line, maxLength));
  else if (bytes.some((byte) => byte > SPACE)) rows.push(toRow(line, () => pipe.transform(bytes)));
}
