import type { IncomingHttpHeaders } from 'node:http';
import { Socket } from 'node:net';
import { ContractException } from '../../contract/contract.exception.js';
import { PublicRequest } from './public-request.js';

function requestWith(headers: IncomingHttpHeaders): PublicRequest {
  const request = new PublicRequest(new Socket());
  request.httpVersion = '1.1';
  request.headers = headers;
  return request;
}

describe('A request', () => {
  it.each([
    ['close', true],
    ['keep-alive, \tCLOSE ', true],
    ['closed, close-not', false],
    ['clo se', false],
  ])('with "Connection: %s" asks to close: %s', (connection, asksToClose) => {
    expect(requestWith({ connection }).asksToClose).toBe(asksToClose);
    expect(requestWith({ 'proxy-connection': connection }).asksToClose).toBe(asksToClose);
  });

  // It would take ten minutes if it grew with the square of the length: a stranger could block the service.
  it('is asked in linear time, however long the header is', () => {
    const spaces = ' '.repeat(1_000_000);

    expect(requestWith({ connection: `a${spaces}b` }).asksToClose).toBe(false);
  });

  it('whose body fails keeps the first refusal, and emits no error', () => {
    const request = requestWith({ 'content-length': '1' });
    const [refusal, later] = [new ContractException(408), new ContractException(400)];
    const seen: unknown[] = [];

    request.refuseBody(refusal);
    request.beginBody((reason) => seen.push(reason));
    request.refuseBody(later);

    expect(seen).toEqual([refusal, refusal]);
    expect(request.destroyed).toBe(false);
  });
});
