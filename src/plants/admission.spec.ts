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
      admission.admitClient(answer);
    } catch (error) {
      expect(error).toEqual(new ContractException(503));
      return admitted;
    }
    admitted.push(answer);
  }
}

describe('Admission', () => {
  it('admits requests until there is no place left, and again when an answer was taken', () => {
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
  ])('gives no place to a request %s, which nothing would free', (_what, end) => {
    const admission = new Admission(MIB);
    const answer = newAnswer();
    end(answer);
    answer.emit('close');

    expect(() => admission.admitClient(answer)).toThrow(new ContractException(503));
    expect(fill(admission)).toHaveLength(2_048);
  });

  it('admits nothing while bodies and plants occupy too many bytes, until an answer was taken or a body was refused', () => {
    const admission = new Admission(MIB);
    const answer = newAnswer();
    const first = admission.admitClient(answer);
    const second = admission.admitClient(newAnswer());

    expect(admission.chargeBody(first, 8 * MIB)).toBe(true);
    expect(admission.chargeBody(second, 4 * MIB)).toBe(true);
    admission.admitPlant(first, 4 * MIB + 1);
    expect(fill(admission)).toHaveLength(0);
    expect(admission.chargeBody(second, 1)).toBe(false);
    const third = admission.admitClient(newAnswer());
    expect(admission.chargeBody(third, 4 * MIB - 1)).toBe(true);
    admission.admitPlant(third, 1);
    admission.releasePlant(first);
    expect(admission.chargeBody(admission.admitClient(newAnswer()), 4 * MIB)).toBe(true);
    expect(admission.chargeBody(admission.admitClient(newAnswer()), 1)).toBe(false);
    answer.emit('close');
    expect(admission.chargeBody(admission.admitClient(newAnswer()), 8 * MIB)).toBe(true);
    expect(admission.chargeBody(admission.admitClient(newAnswer()), 1)).toBe(false);
  });

  it('counts a plant whose client has gone until it has left', () => {
    const admission = new Admission(MIB);
    const answer = newAnswer();
    const place = admission.admitClient(answer);
    admission.admitPlant(place, 16 * MIB + 1);
    answer.emit('close');

    expect(fill(admission)).toHaveLength(0);
    admission.releasePlant(place);
    expect(fill(admission)).toHaveLength(2_048);
  });

  it('takes no plant of a request whose client has gone', () => {
    const admission = new Admission(MIB);
    const answer = newAnswer();
    const place = admission.admitClient(answer);
    answer.emit('close');

    expect(admission.chargeBody(place, 1)).toBe(false);
    expect(() => admission.admitPlant(place, 1)).toThrow(ContractException);
  });

  it('counts calls of the host like requests, until their plants have left', () => {
    const admission = new Admission(MIB);
    const calls = Array.from({ length: 2_048 }, () => admission.admitCall(1));

    expect(fill(admission)).toHaveLength(0);
    for (const place of calls.slice(0, 2)) admission.releasePlant(place);
    expect(fill(admission)).toHaveLength(2);
  });

  it('has room for two bodies of the greatest length', () => {
    const admission = new Admission(254 * MIB);

    expect(admission.chargeBody(admission.admitClient(newAnswer()), 508 * MIB)).toBe(true);
  });

  it('closes the oldest connection that has not taken its answer for one that wants its place', () => {
    const admission = new Admission(MIB);
    const answers = [newAnswer(), newAnswer(), newAnswer(), newAnswer()];
    const [first] = answers.map((answer) => {
      const place = admission.admitClient(answer);
      admission.chargeBody(place, 4 * MIB);
      return place;
    });
    if (first !== undefined) admission.admitPlant(first, 1);
    for (const answer of answers.slice(1)) answer.end('x'.repeat(20_000));
    admission.admitClient(newAnswer());

    expect(answers.map(({ destroyed }) => destroyed)).toEqual([false, true, false, false]);
  });

  it('closes the oldest connection that has not taken its answer for a body that needs its room', () => {
    const admission = new Admission(MIB);
    const answers = [newAnswer(), newAnswer(), newAnswer()];
    const [, , last] = answers.map((answer) => {
      const place = admission.admitClient(answer);
      admission.chargeBody(place, 5 * MIB);
      return place;
    });
    for (const answer of answers.slice(0, 2)) answer.end('x'.repeat(20_000));

    expect(last && admission.chargeBody(last, 5 * MIB)).toBe(true);
    expect(answers.map(({ destroyed }) => destroyed)).toEqual([true, false, false]);
  });

  it('closes when all plants have left, admits others meanwhile, and nothing afterwards', async () => {
    const admission = new Admission(MIB);
    const request = admission.admitClient(newAnswer());
    admission.admitPlant(request, 1);
    const places = [admission.admitCall(1), request];
    let isClosed = false;
    const closing = admission.close().then(() => (isClosed = true));
    for (const place of places) {
      await new Promise(setImmediate);
      expect(isClosed).toBe(false);
      admission.releasePlant(place);
    }
    const late = admission.admitCall(1);
    await new Promise(setImmediate);
    expect(isClosed).toBe(false);
    admission.releasePlant(late);
    await closing;

    expect(() => admission.admitCall(1)).toThrow(ContractException);
  });

  it('refuses calls of the host while their plants occupy too many bytes', () => {
    const admission = new Admission(MIB);
    admission.admitCall(16 * MIB);
    const last = admission.admitCall(1);

    expect(() => admission.admitCall(1)).toThrow(ContractException);
    admission.releasePlant(last);
    expect(() => admission.admitCall(1)).not.toThrow();
  });
});
