import { badUsage, EXIT_STATUS } from '../operator-error.js';
import { withoutCredentials } from '../operator-text.js';

/** How a command reports its result. */
export interface ReportOptions {
  /** Prints the summary as JSON instead of words. */
  readonly json?: boolean | undefined;
  /** Sends the JSON to stderr, because stdout has the data of the command. */
  readonly dataOnStdout?: boolean;
}

/** The option of every command that prints a summary or a listing. */
export const JSON_OPTION = ['--json', 'print the result as JSON'] as const;

/** The advice of an interrupted command that can simply run again. */
export const RUN_AGAIN = 'run the same command again';

/** @throws {OperatorError} unless a file that is to be created can have this name */
export function assertFileName(name: string): void {
  if (name === '') throw badUsage('the name of the file is empty: name a file');
  if (name.endsWith('/')) throw badUsage(`${name} is the name of a directory: name a file`);
}

/**
 * If a signal interrupts the program, prints a line that says what is stored, and how to go on.
 *
 * @returns a function that ends this, for a command that has done its work and only prints its summary
 */
export function onInterruption(describe: () => string): () => void {
  const print = (status: number): void => {
    if (status === EXIT_STATUS.interrupted) {
      process.stderr.write(`plant-store: interrupted: ${withoutCredentials(describe())}\n`);
    }
  };
  process.once('exit', print);
  return () => process.off('exit', print);
}

/** Prints the result of a command: words on stderr, or one line of JSON on stdout. */
export function printSummary(summary: object, words: string, { json, dataOnStdout = false }: ReportOptions): void {
  const stream = json === true && !dataOnStdout ? process.stdout : process.stderr;
  stream.write(`${json === true ? JSON.stringify(summary) : words}\n`);
}

/** Returns a number and its noun, such as `1 plant` or `2 plants`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
