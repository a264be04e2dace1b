/** Writes a figure for a person to stderr, if the environment variable REPORT is set. */
export function report(figure: string): void {
  if (process.env.REPORT !== undefined) process.stderr.write(`${figure}\n`);
}
