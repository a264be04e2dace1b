import { inspect } from 'node:util';
import { Logger } from '@nestjs/common';

const logger = new Logger('PlantStore');

/** Logs what was thrown while a request was answered, with the stacks of all causes. */
export function logDefect(requestId: unknown, thrown: unknown): void {
  const id = typeof requestId === 'string' ? requestId : 'without an id';
  // Not the whole value: the members of a client's error may have a token.
  const text = thrown instanceof Error ? thrown.message : inspect(thrown, { depth: -1 });
  const stacks: string[] = [];
  for (let next = thrown; next instanceof Error; next = next.cause) stacks.push(next.stack ?? next.message);
  logger.error(`The request ${id} failed: ${text}`, ...(stacks.length > 0 ? [stacks.join('\nCaused by: ')] : []));
}
