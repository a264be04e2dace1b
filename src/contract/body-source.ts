import type { IncomingMessage } from 'node:http';
import type { ContractException } from './contract.exception.js';

/** The event with which a BodySource passes its `bodyError` to readers of the body. */
export const BODY_ERROR = 'bodyError';

/** A request whose server knows why the body will not be complete. In hosts, Node's request knows nothing of it. */
export interface BodySource extends IncomingMessage {
  /** The reason why the body stays incomplete. */
  readonly bodyError?: ContractException | undefined;
}
