/**
 * Runs work, and shows its progress on stderr if that is a terminal: a bar with the remaining time, or a count if there is
 * no total.
 *
 * @param unit the plural of what is counted, such as plants
 * @param countTotal called only if the progress is shown, because counting takes time
 * @param work calls `update` with how many are done
 */
export async function withProgress<Result>(
  unit: string,
  countTotal: () => number | undefined | Promise<number>,
  work: (update: (done: number) => void) => Promise<Result>,
): Promise<Result> {
  if (!process.stderr.isTTY) return work(() => undefined);
  const { default: cliProgress } = await import('cli-progress');
  const total = await countTotal();
  const format =
    total === undefined
      ? `{value} ${unit}, {duration_formatted}`
      : `{bar} {value} of {total} ${unit}, {eta_formatted} left`;
  const bar = new cliProgress.SingleBar({ format, stream: process.stderr, clearOnComplete: true });
  bar.start(total ?? 0, 0);
  try {
    return await work((done) => bar.update(done));
  } finally {
    bar.stop();
  }
}
