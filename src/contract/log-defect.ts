import { inspect } from 'node:util';
import { Logger } from '@nestjs/common';

const logger = new Logger('PlantStore');

/** Logs what was thrown, with all its causes, while a request was answered. */
export function logDefect(requestId: unknown, thrown: unknown): void {
  const [message, stack] = thrown instanceof Error ? [thrown.message, stackWithCauses(thrown)] : [textOf(thrown)];
  logger.error(`The request ${typeof requestId === 'string' ? requestId : 'without an id'} failed: ${message}`, stack);
}

/** Each error once: a host may have made a circle of causes. */
function stackWithCauses(error: Error): string {
  const errors = new Set<Error>();
  for (let next: unknown = error; next instanceof Error && !errors.has(next); next = next.cause) errors.add(next);
  return Array.from(errors, ({ stack, message }) => stack ?? message).join('\nCaused by: ');
}

/** An object need not be convertible to a string. */
function textOf(thrown: unknown): string {
  if (typeof thrown === 'string') return thrown;
  return typeof thrown === 'object' ? Object.prototype.toString.call(thrown) : inspect(thrown);
}
