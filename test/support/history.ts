/**
 * A history checker as in Jepsen: clients record their requests and the answers while faults happen, and at the end the
 * store is read. From that alone the checker finds every broken promise of the service.
 */

/** A request and its outcome, as the client knows it. */
export interface Operation {
  readonly id: bigint;
  /** Name and tag; equal if and only if both are. */
  readonly content: string;
  /** `ok`: 200. `refused`: an error that says the plant is not stored. `unknown`: 503, 500 or no complete answer. */
  readonly outcome: 'ok' | 'refused' | 'unknown';
}

/** The contents of the store at the end, by id. */
export type Store = ReadonlyMap<bigint, string>;

/** Returns the content of a plant, for comparison. */
export function contentOf({ name, tag }: { readonly name: string; readonly tag?: string | null | undefined }): string {
  return JSON.stringify([name, tag ?? null]);
}

/** Returns the contents of these rows. */
export function storeFrom(
  rows: readonly { readonly id: bigint; readonly name: string; readonly tag: string | null }[],
): Store {
  return new Map(rows.map((row) => [row.id, contentOf(row)]));
}

/** Returns a sentence for each broken promise, which names the id. */
export function violationsIn(history: readonly Operation[], store: Store): string[] {
  const operations = new Map<bigint, Operation[]>();
  for (const operation of history) {
    const ofId = operations.get(operation.id);
    if (ofId === undefined) operations.set(operation.id, [operation]);
    else ofId.push(operation);
  }
  const violations: string[] = [];
  for (const [id, ofId] of operations) {
    const contents = (outcome: Operation['outcome']): Set<string> =>
      new Set(ofId.filter((operation) => operation.outcome === outcome).map(({ content }) => content));
    const acknowledged = contents('ok');
    const stored = store.get(id);
    if (acknowledged.size > 1) violations.push(`${id}: more than one content was acknowledged`);
    for (const content of acknowledged) {
      if (stored === undefined) violations.push(`${id}: ${content} was acknowledged and is not stored`);
      else if (stored !== content) violations.push(`${id}: ${content} was acknowledged and ${stored} is stored`);
    }
    if (stored !== undefined && !acknowledged.has(stored) && !contents('unknown').has(stored)) {
      violations.push(
        contents('refused').has(stored)
          ? `${id}: ${stored} was refused and is stored`
          : `${id}: ${stored} is stored and was not sent`,
      );
    }
  }
  for (const [id, stored] of store) {
    if (!operations.has(id)) violations.push(`${id}: ${stored} is stored and was not sent`);
  }
  return violations;
}
