import type { ServerResponse } from 'node:http';
import { type ArgumentsHost, Catch, type ExceptionFilter, HttpException, Injectable, Logger } from '@nestjs/common';
import { ContractException } from './contract.exception.js';
import { isErrorNumber } from './error-table.js';
import { refuse, type Reply } from './send.js';

/** Turns whatever is thrown into the contract's answer: 400 with `{error, message}`. */
@Injectable()
@Catch()
export class ContractExceptionFilter implements ExceptionFilter {
  readonly #logger = new Logger('PlantStore');

  catch(thrown: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    this.answer(thrown, http.getRequest(), http.getResponse());
  }

  /** Answers with what was thrown, in the contract's words. */
  answer(thrown: unknown, request: { readonly id?: unknown }, response: Reply | ServerResponse): void {
    refuse(response, this.#exceptionFor(thrown, request.id));
  }

  #exceptionFor(thrown: unknown, requestId: unknown): ContractException {
    if (thrown instanceof ContractException) return thrown;
    // The refusals of Nest, of Fastify or of a host keep their number where the table has it, and lose their text.
    const status = thrown instanceof HttpException ? thrown.getStatus() : 500;
    if (status !== 500 && isErrorNumber(status)) return new ContractException(status);
    if (status < 500) return new ContractException(400, `The request was refused, with the status ${status}.`);
    const message = thrown instanceof Error ? thrown.message : String(thrown);
    const id = typeof requestId === 'string' ? requestId : 'without an id';
    this.#logger.error(`The request ${id} failed: ${message}`, thrown instanceof Error ? describe(thrown) : undefined);
    return new ContractException(500);
  }
}

/** An error with its stack and all its causes, for the log alone. */
function describe(error: Error): string {
  const stack = error.stack ?? error.message;
  return error.cause instanceof Error ? `${stack}\nCaused by: ${describe(error.cause)}` : stack;
}
