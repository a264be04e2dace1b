import { parseNewPlant } from '../../plants/pipes/new-plant.pipe.js';
import { decode, type Row, tooLong, toRow } from './rows.js';

/**
 * Reads each line as a body of `POST /plants`, and yields the rows of each chunk. Blank lines are ignored. Lines end at LF
 * alone: readline also splits at CR and U+2028, which a text may have.
 */
export async function* readNdjson(input: AsyncIterable<Buffer>, maxLength: number): AsyncGenerator<Row[]> {
  let line = 0;
  let rest = '';
  for await (const chunk of input) {
    // Each character is one byte, until the line is decoded.
    const [end = '', ...lines] = chunk.toString('latin1').split('\n');
    // A row that is too long already is rejected, however it goes on.
    if (rest.length <= maxLength) rest += end;
    const rows: Row[] = [];
    for (const next of lines) {
      line += 1;
      addRow(rows, line, rest, maxLength);
      rest = next;
    }
    yield rows;
  }
  const rows: Row[] = [];
  addRow(rows, line + 1, rest, maxLength);
  yield rows;
}

/** Adds the row of a line that is not blank. */
function addRow(rows: Row[], line: number, bytes: string, maxLength: number): void {
  if (bytes.length > maxLength) rows.push(tooLong(line, maxLength));
  else if (/[^ \t\r]/.test(bytes)) rows.push(toRow(line, () => parseNewPlant(decode(bytes))));
}
