import { IncomingMessage } from 'node:http';
import type { ContractException } from '../errors/contract.exception.js';

/** A request that can be told, while its body is on its way, that the rest will not come. */
export class PublicRequest extends IncomingMessage {
  /** The client waits for `100 Continue` before it sends its body (RFC 9110 §10.1.1). */
  awaitsContinue = false;
  /** Why the body will not be complete. */
  failure: ContractException | undefined;

  /** Ends the reading of the body, now or whenever it begins. */
  fail(exception: ContractException): void {
    this.failure ??= exception;
    this.emit('failure', exception);
  }
}
