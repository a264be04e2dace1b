import type { ServerResponse } from 'node:http';
import type { ContractException } from './contract.exception.js';

/** Answers a request that never reaches the router, and ends its connection. */
export function answer(response: ServerResponse, exception: ContractException): void {
  const body = JSON.stringify(exception.body);
  // What follows on the connection cannot be told from the rest of what was refused.
  response.shouldKeepAlive = false;
  response
    .writeHead(400, {
      ...exception.headers,
      'Content-Type': 'application/json',
      'Content-Length': Buffer.byteLength(body),
    })
    .end(body);
}
