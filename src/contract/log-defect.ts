import { Logger } from '@nestjs/common';

const logger = new Logger('PlantStore');

/** Logs what was thrown, with all its causes, while a request was answered. */
export function logDefect(requestId: unknown, thrown: unknown): void {
  const [message, stack] = thrown instanceof Error ? [thrown.message, stackWithCauses(thrown)] : [String(thrown)];
  logger.error(`The request ${typeof requestId === 'string' ? requestId : 'without an id'} failed: ${message}`, stack);
}

function stackWithCauses(error: Error): string {
  const stack = error.stack ?? error.message;
  return error.cause instanceof Error ? `${stack}\nCaused by: ${stackWithCauses(error.cause)}` : stack;
}
