import { inspect } from 'node:util';
import { Logger } from '@nestjs/common';

const logger = new Logger('PlantStore');

/** Logs what was thrown, with all its causes, while a request was answered. */
export function logDefect(requestId: unknown, thrown: unknown): void {
  const id = typeof requestId === 'string' ? requestId : 'without an id';
  if (thrown instanceof Error) logger.error(`The request ${id} failed: ${thrown.message}`, stackWithCauses(thrown));
  else logger.error(`The request ${id} failed: ${textOf(thrown)}`);
}

/** Returns the stack of each cause once: a host may have made a circle of causes. */
function stackWithCauses(error: Error): string {
  const errors = new Set<Error>();
  for (let next: unknown = error; next instanceof Error && !errors.has(next); next = next.cause) errors.add(next);
  return Array.from(errors, ({ stack, message }) => stack ?? message).join('\nCaused by: ');
}

/** Describes a value that is no Error. Of an object, only the names of its members are logged: a value may be a token. */
function textOf(thrown: unknown): string {
  if (typeof thrown === 'string') return thrown;
  if (typeof thrown !== 'object' || thrown === null) return inspect(thrown);
  return `an object that is no Error: {${Object.keys(thrown).join(', ')}}`;
}
