import { UnusableDatabaseError } from './start-error.js';

/** A column of a table, as the catalog of the engine describes it. */
export interface Column {
  readonly name: string;
  readonly type: string;
  /** True if an INSERT must have a value for it. */
  readonly isRequired: boolean;
  /** True if its values are unique by themselves, and not together with those of other columns. */
  readonly isUnique: boolean;
}

/**
 * Checks that a table named plants is the one that this program makes. Additional columns are allowed, unless an INSERT
 * must have a value for them.
 *
 * @param types the type of each column, as the engine writes it
 * @param advice completes the message for the operator
 * @throws {UnusableDatabaseError} when it is a table of another program
 */
export function assertPlantColumns(
  table: string,
  columns: readonly Column[],
  types: Readonly<Record<'id' | 'name' | 'tag', string>>,
  advice: string,
): void {
  const difference = differenceOf(columns, types);
  if (difference === undefined) return;
  throw new UnusableDatabaseError(`has a table ${table} of another program: ${difference}; ${advice}`);
}

function differenceOf(columns: readonly Column[], types: Readonly<Record<string, string>>): string | undefined {
  for (const [name, type] of Object.entries(types)) {
    const column = columns.find((column) => column.name === name);
    if (column === undefined) return `it has no column ${name}`;
    if (column.type !== type) return `its column ${name} has the type ${column.type} instead of ${type}`;
  }
  if (columns.find(({ name }) => name === 'id')?.isUnique !== true) return 'its column id is not a key';
  const required = columns.find(({ name, isRequired }) => isRequired && !['id', 'name'].includes(name));
  return required && `its column ${required.name} must have a value`;
}
