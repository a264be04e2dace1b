import { OperatorError } from '../../operator-error.js';
import { readRow, type Row } from './rows.js';

/** Reads each line as a body of `POST /plants`. Blank lines are ignored. */
export async function* readNdjson(texts: AsyncIterable<string>): AsyncGenerator<Row> {
  let line = 0;
  let isFirst = true;
  for await (const text of linesOf(texts)) {
    line += 1;
    if (text.trim() === '') continue;
    if (isFirst) assertNdjson(text);
    isFirst = false;
    yield readRow(`line ${line}`, text);
  }
}

/** Yields lines, which end at LF alone: readline would also split at CR and U+2028, which a text may have. */
async function* linesOf(texts: AsyncIterable<string>): AsyncGenerator<string> {
  let rest = '';
  for await (const text of texts) {
    const [end = '', ...lines] = text.split('\n');
    rest += end;
    for (const line of lines) {
      yield rest;
      rest = line;
    }
  }
  yield rest;
}

/** Refuses a file of another format by its first line: otherwise, each line would be an error. */
function assertNdjson(firstLine: string): void {
  const beginning = firstLine.trim();
  if (beginning.startsWith('[')) throw notNdjson("a JSON array: convert it with jq -c '.[]' (jq 1.7 or later)");
  if (beginning === '{') throw notNdjson('pretty-printed JSON: convert it with jq -c . (jq 1.7 or later)');
  if (/^[^{]*[,;]/.test(beginning)) throw notNdjson('perhaps CSV: then pass --format csv');
}

function notNdjson(description: string): OperatorError {
  return new OperatorError(`the file is not NDJSON, which has a plant on each line, but ${description}`);
}
