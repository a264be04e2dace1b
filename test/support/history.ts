/**
 * A history checker in the manner of Jepsen: clients note what they asked for and what they were told, faults happen
 * meanwhile, and in the end the store is read. Whatever the service promises must follow from that alone.
 */

/** One request and its outcome, as the client knows it. */
export interface Operation {
  readonly id: bigint;
  /** Name and tag, in a form that is equal when they are. */
  readonly content: string;
  /** `ok`: 200. `refused`: an answer that says nothing was stored. `unknown`: 503 or 500, or no whole answer. */
  readonly outcome: 'ok' | 'refused' | 'unknown';
}

/** What the store holds in the end: content by id. */
export type Store = ReadonlyMap<bigint, string>;

/** The content of a plant, for comparison. */
export function contentOf({ name, tag }: { readonly name: string; readonly tag?: string | null | undefined }): string {
  return JSON.stringify([name, tag ?? null]);
}

/** @returns every promise that was broken, in a sentence that names the id; nothing where all were kept */
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
