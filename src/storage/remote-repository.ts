import { type Outcome, PlantRepository, RepositoryUnavailableError, type StoredPlant } from './plant-repository.js';

/** The result of a batch, as one process sends it to another. */
export type BatchResult =
  | { readonly outcomes: readonly Outcome[] }
  | { readonly message: string; readonly stack: string | undefined; readonly isUnavailable: boolean };

/** Waits for the outcomes of a batch, and returns them, or the error, for `RemoteRepository.settle`. */
export async function resultOf(adding: Promise<readonly Outcome[]>): Promise<BatchResult> {
  try {
    return { outcomes: await adding };
  } catch (error) {
    const { message, stack } = error instanceof Error ? error : new Error(String(error));
    return { message, stack, isUnavailable: error instanceof RepositoryUnavailableError };
  }
}

/** The store of another process, which takes one batch at a time from this one. */
export class RemoteRepository extends PlantRepository {
  #pending: { resolve(outcomes: readonly Outcome[]): void; reject(reason: Error): void } | undefined;

  /** @param send sends a batch to the other process, which answers with a result for `settle` */
  constructor(private readonly send: (batch: readonly StoredPlant[]) => void) {
    super();
  }

  override add(batch: readonly StoredPlant[]): Promise<readonly Outcome[]> {
    return new Promise((resolve, reject) => {
      this.#pending = { resolve, reject };
      this.send(batch);
    });
  }

  /** Resolves or rejects the batch in flight. */
  settle(result: BatchResult): void {
    const pending = this.#pending;
    this.#pending = undefined;
    if ('outcomes' in result) pending?.resolve(result.outcomes);
    else pending?.reject(errorOf(result));
  }

  override close(): Promise<void> {
    return Promise.resolve();
  }
}

function errorOf({ message, stack, isUnavailable }: Exclude<BatchResult, { readonly outcomes: unknown }>): Error {
  const error = isUnavailable ? new RepositoryUnavailableError(message) : new Error(message);
  if (stack !== undefined) error.stack = stack;
  return error;
}
