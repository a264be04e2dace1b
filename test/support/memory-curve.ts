/** Minutes from which a growth can be told from the noise. */
const MIN_MINUTES = 10;

/** The resident set of a process over time, minute by minute. */
export class MemoryCurve {
  /** The samples of each minute, in bytes. */
  readonly #minutes: number[][] = [];

  /** @param elapsed milliseconds since the beginning */
  add(elapsed: number, bytes: number): void {
    (this.#minutes[Math.floor(elapsed / 60_000)] ??= []).push(bytes);
  }

  /** The greatest sample. */
  get peak(): number {
    return Math.max(...this.#minutes.flat());
  }

  /** Returns a line for each minute: minimum, median and maximum in MB. */
  get table(): string {
    const lines = this.#minutes.map((samples, minute) =>
      [minute, Math.min(...samples) / 1e6, median(samples) / 1e6, Math.max(...samples) / 1e6]
        .map((value) => value.toFixed(0).padStart(7))
        .join(''),
    );
    return [' minute    min median    max', ...lines].join('\n');
  }

  /**
   * Returns by how much the memory has grown since a minute, as a share of the median: the slope of Theil and Sen, which
   * single peaks do not change, through the medians of the minutes. The medians of fewer than ten tell nothing: 0.
   */
  growthSince(minute: number): number {
    const medians = this.#minutes.slice(minute).map(median);
    const slopes = medians.flatMap((later, end) =>
      medians.slice(0, end).map((earlier, start) => (later - earlier) / (end - start)),
    );
    return medians.length < MIN_MINUTES ? 0 : (median(slopes) * (medians.length - 1)) / median(medians);
  }
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/** Returns the value below which this share of the values is. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? NaN;
}
