import { type OutgoingHttpHeader, ServerResponse } from 'node:http';
import type { ContractException } from '../../contract/contract.exception.js';
import type { PublicRequest } from './public-request.js';

/** An answer to a request: JSON, or nothing. */
export interface Answer {
  readonly status: number;
  readonly body?: object | undefined;
  /** Headers that only some answers have. */
  readonly headers: Readonly<Record<string, OutgoingHttpHeader | undefined>>;
  /** True for the answer to the preflight of an allowed origin, which has no token, but may keep its connection. */
  readonly answersPreflight?: boolean;
}

/** A response on the public port. */
export class PublicResponse extends ServerResponse<PublicRequest> {
  /** True if the client sends the body only after 100 Continue. */
  awaitsContinue = false;
  /** When the headers of the request were complete, as `performance.now` tells it. */
  readonly headersCompleteAt = performance.now();

  /** Answers the request. Its connection sends the answer, and decides what follows. */
  answer(answer: Answer): void {
    this.req.client.send(this, answer);
  }

  /** Answers the request with an error. */
  refuse(refusal: ContractException): void {
    this.answer({ status: 400, body: refusal.getResponse(), headers: refusal.headers });
  }
}
