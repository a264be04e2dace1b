/** How a command reports its result. */
export interface ReportOptions {
  /** Prints the summary as JSON instead of words. */
  readonly json?: boolean | undefined;
  /** Sends the JSON to stderr, because stdout has the data of the command. */
  readonly dataOnStdout?: boolean;
}

/** The option of every command that prints a summary or a listing. */
export const JSON_OPTION = ['--json', 'print the result as JSON'] as const;

/** Prints the result of a command: words on stderr, or one line of JSON on stdout. */
export function printSummary(summary: object, words: string, { json, dataOnStdout = false }: ReportOptions): void {
  const stream = json === true && !dataOnStdout ? process.stdout : process.stderr;
  stream.write(`${json === true ? JSON.stringify(summary) : words}\n`);
}

/** Returns a number and its noun, such as `1 plant` or `2 plants`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
