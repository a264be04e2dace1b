/**
 * Runs work, and shows its progress on stderr if that is a terminal: a bar with the remaining time, or a count if there is
 * no total.
 *
 * @param unit the plural of what is counted, such as plants; percent if it is `%`
 * @param countTotal called only if the progress is shown, because counting takes time
 * @param work calls `update` with how much is done, in the unit of the total
 */
export async function withProgress<Result>(
  unit: string,
  countTotal: () => number | undefined | Promise<number>,
  work: (update: (done: number) => void) => Promise<Result>,
): Promise<Result> {
  if (!process.stderr.isTTY) return work(() => undefined);
  const { default: cliProgress } = await import('cli-progress');
  const total = await countTotal();
  const share = `${unit === '%' ? '{percentage} %' : `{value} of {total} ${unit}`}, {eta_formatted} left`;
  const format = total === undefined ? `{value} ${unit}, {duration_formatted}` : `{bar} ${share}`;
  const bar = new cliProgress.SingleBar({ format, stream: process.stderr, clearOnComplete: true });
  bar.start(total ?? 0, 0);
  try {
    return await work((done) => bar.update(Math.floor(done)));
  } finally {
    bar.stop();
  }
}
