/** How a command reports its result. */
export interface ReportOptions {
  /** Prints the summary as JSON instead of words. */
  readonly json?: boolean | undefined;
  /** Sends the JSON to stderr, because stdout has the data of the command. */
  readonly dataOnStdout?: boolean;
}

/** The option of every command that prints a summary or a listing. */
export const JSON_OPTION = ['--json', 'print the result as JSON'] as const;

/** Prints the result of a command: words on stderr, or one line of JSON on stdout. A bigint becomes a JSON number. */
export function printSummary(summary: object, words: string, { json, dataOnStdout = false }: ReportOptions): void {
  if (json === true) (dataOnStdout ? process.stderr : process.stdout).write(`${toJson(summary)}\n`);
  else process.stderr.write(`${words}\n`);
}

/** Returns a number and its noun, such as `1 plant` or `2 plants`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** Formats a value as JSON, with each bigint as an exact number. */
export function toJson(value: unknown): string {
  if (typeof value === 'bigint') return `${value}`;
  if (Array.isArray(value)) return `[${value.map(toJson).join()}]`;
  if (typeof value !== 'object' || value === null || value instanceof Date) return JSON.stringify(value);
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${toJson(member)}`).join()}}`;
}

/** The progress of a command. */
export interface Progress {
  /** Shows how much is done, in the unit of the total. */
  update(done: number): void;
  /** Removes what is shown. */
  stop(): void;
}

/** A progress that is not shown. */
export const NO_PROGRESS: Progress = { update: () => undefined, stop: () => undefined };

/**
 * Shows the progress on stderr if that is a terminal: a bar with the remaining time, or a count if there is no total.
 *
 * @param unit the plural of what is counted, such as plants; percent if it is `%`
 * @param countTotal called only if the progress is shown, because counting takes time
 */
export async function showProgress(unit: string, countTotal?: () => number | Promise<number>): Promise<Progress> {
  if (!process.stderr.isTTY) return NO_PROGRESS;
  const { default: cliProgress } = await import('cli-progress');
  const total = await countTotal?.();
  const remaining = '{eta_formatted} left';
  const share = unit === '%' ? `{percentage} %, ${remaining}` : `{value} of {total} ${unit}, ${remaining}`;
  const format = total === undefined ? `{value} ${unit}, {duration_formatted}` : `{bar} ${share}`;
  const bar = new cliProgress.SingleBar({ format, stream: process.stderr, clearOnComplete: true });
  bar.start(total ?? 0, 0);
  return { update: (done) => bar.update(Math.floor(done)), stop: () => bar.stop() };
}
