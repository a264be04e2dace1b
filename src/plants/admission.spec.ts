import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { ContractException } from '../contract/contract.exception.js';
import { Admission } from './admission.js';

const MIB = 1_048_576;

/** Returns Node's response to a request on a connection of its own. */
function newAnswer(): ServerResponse {
  return new ServerResponse(new IncomingMessage(new Socket()));
}

/** Admits requests until one is refused, and returns their answers. */
function fill(admission: Admission): ServerResponse[] {
  const admitted: ServerResponse[] = [];
  for (;;) {
    const answer = newAnswer();
    try {
      admission.admitRequest(answer);
    } catch (error) {
      expect(error).toEqual(new ContractException(503));
      return admitted;
    }
    admitted.push(answer);
  }
}

describe('Admission', () => {
  it('admits 2,048 requests, and others when an answer was taken', () => {
    const admission = new Admission(MIB);
    const admitted = fill(admission);

    expect(admitted).toHaveLength(2_048);
    admitted[0]?.emit('close');
    expect(fill(admission)).toHaveLength(1);
  });

  it('admits requests again whose connection is closed, though their answers wait for another one', () => {
    const admission = new Admission(MIB);
    for (const answer of fill(admission).slice(-2)) answer.req.socket.destroy();

    expect(fill(admission)).toHaveLength(2);
  });

  it.each<[string, (answer: ServerResponse) => unknown]>([
    ['whose client has gone', (answer) => answer.req.socket.destroy()],
    ['that the host has answered', (answer) => answer.end()],
  ])('does not admit a request %s, which would count forever', (_what, end) => {
    const admission = new Admission(MIB);
    const answer = newAnswer();
    end(answer);
    answer.emit('close');

    expect(() => admission.admitRequest(answer)).toThrow(new ContractException(503));
    expect(fill(admission)).toHaveLength(2_048);
  });

  it('admits nothing while bodies and plants occupy too many bytes, until an answer was taken or a body was refused', () => {
    const admission = new Admission(MIB);
    const answer = newAnswer();
    const first = admission.admitRequest(answer);
    const second = admission.admitRequest(newAnswer());

    expect(admission.chargeBody(first, 8 * MIB)).toBe(true);
    expect(admission.chargeBody(second, 4 * MIB)).toBe(true);
    admission.admitPlant(4 * MIB + 1);
    expect(fill(admission)).toHaveLength(0);
    expect(admission.chargeBody(second, 1)).toBe(false);
    const third = admission.admitRequest(newAnswer());
    expect(admission.chargeBody(third, 4 * MIB - 1)).toBe(true);
    admission.admitPlant(1);
    admission.releasePlant(4 * MIB + 1);
    expect(admission.chargeBody(admission.admitRequest(newAnswer()), 4 * MIB)).toBe(true);
    expect(admission.chargeBody(admission.admitRequest(newAnswer()), 1)).toBe(false);
    answer.emit('close');
    expect(admission.chargeBody(admission.admitRequest(newAnswer()), 8 * MIB)).toBe(true);
    expect(admission.chargeBody(admission.admitRequest(newAnswer()), 1)).toBe(false);
  });

  it('counts a plant whose client has gone until it has left', () => {
    const admission = new Admission(MIB);
    const answer = newAnswer();
    admission.admitRequest(answer);
    admission.admitPlant(16 * MIB + 1);
    answer.emit('close');

    expect(fill(admission)).toHaveLength(0);
    admission.releasePlant(16 * MIB + 1);
    expect(fill(admission)).toHaveLength(2_048);
  });

  it('has no room for the body of a request whose client has gone', () => {
    const admission = new Admission(MIB);
    const answer = newAnswer();
    const request = admission.admitRequest(answer);
    answer.emit('close');

    expect(admission.chargeBody(request, 1)).toBe(false);
  });

  it('admits 2,048 plants, whatever the number of requests, and others when one has left', () => {
    const admission = new Admission(MIB);
    for (let count = 0; count < 2_048; count += 1) admission.admitPlant(1);

    expect(() => admission.admitPlant(1)).toThrow(new ContractException(503));
    expect(fill(admission)).toHaveLength(2_048);
    admission.releasePlant(1);
    expect(() => admission.admitPlant(1)).not.toThrow();
  });

  it('has room for two bodies of the greatest length', () => {
    const admission = new Admission(254 * MIB);

    expect(admission.chargeBody(admission.admitRequest(newAnswer()), 508 * MIB)).toBe(true);
  });

  it('closes the oldest connection that has not taken its answer for a further request', () => {
    const admission = new Admission(MIB);
    const answers = [newAnswer(), newAnswer(), newAnswer(), newAnswer()];
    for (const answer of answers) admission.chargeBody(admission.admitRequest(answer), 4 * MIB);
    admission.admitPlant(1);
    for (const answer of answers.slice(1)) answer.end('x'.repeat(20_000));
    admission.admitRequest(newAnswer());

    expect(answers.map(({ destroyed }) => destroyed)).toEqual([false, true, false, false]);
  });

  it('closes the oldest connection that has not taken its answer for a body that needs its room', () => {
    const admission = new Admission(MIB);
    const answers = [newAnswer(), newAnswer(), newAnswer()];
    const [, , last] = answers.map((answer) => {
      const request = admission.admitRequest(answer);
      admission.chargeBody(request, 5 * MIB);
      return request;
    });
    for (const answer of answers.slice(0, 2)) answer.end('x'.repeat(20_000));

    expect(last && admission.chargeBody(last, 5 * MIB)).toBe(true);
    expect(answers.map(({ destroyed }) => destroyed)).toEqual([true, false, false]);
  });

  it('closes when all plants have left, admits others meanwhile, and nothing afterwards', async () => {
    const admission = new Admission(MIB);
    admission.admitRequest(newAnswer());
    for (const bytes of [1, 2]) admission.admitPlant(bytes);
    let isClosed = false;
    const closing = admission.close().then(() => (isClosed = true));
    for (const bytes of [1, 2]) {
      await new Promise(setImmediate);
      expect(isClosed).toBe(false);
      admission.releasePlant(bytes);
    }
    admission.admitPlant(3);
    await new Promise(setImmediate);
    expect(isClosed).toBe(false);
    admission.releasePlant(3);
    await closing;

    expect(() => admission.admitPlant(1)).toThrow(ContractException);
    expect(fill(admission)).toHaveLength(0);
  });

  it('refuses calls of the host while plants occupy too many bytes', () => {
    const admission = new Admission(MIB);
    admission.admitPlant(16 * MIB);
    expect(() => admission.assertRoomForCall()).not.toThrow();
    admission.admitPlant(1);

    expect(() => admission.assertRoomForCall()).toThrow(new ContractException(503));
    admission.releasePlant(1);
    expect(() => admission.assertRoomForCall()).not.toThrow();
  });
});
