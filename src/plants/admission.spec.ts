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
      admission.admit(answer);
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

  it('admits nothing while bodies and plants occupy all bytes, until a plant has left or a body was refused', () => {
    const admission = new Admission(MIB);
    const chargeFirst = admission.admit(newAnswer());
    const chargeSecond = admission.admit(newAnswer());

    expect(chargeFirst(8 * MIB)).toBe(true);
    admission.enter(4 * MIB);
    expect(chargeSecond(4 * MIB)).toBe(true);
    expect(fill(admission)).toHaveLength(0);
    admission.leave(4 * MIB);
    expect(chargeFirst(4 * MIB)).toBe(true);
    expect(chargeSecond(1)).toBe(false);
    expect(chargeFirst(4 * MIB)).toBe(true);
  });

  it('has room for two bodies of the greatest length', () => {
    const charge = new Admission(254 * MIB).admit(newAnswer());

    expect(charge(508 * MIB)).toBe(true);
  });

  it('closes the oldest connection that has not taken its answer for one that wants its place', () => {
    const admission = new Admission(MIB);
    const answers = [newAnswer(), newAnswer(), newAnswer(), newAnswer()];
    for (const answer of answers) admission.admit(answer)(4 * MIB);
    for (const answer of answers.slice(1)) answer.end('x'.repeat(20_000));
    admission.admit(newAnswer());

    expect(answers.map(({ destroyed }) => destroyed)).toEqual([false, true, false, false]);
  });
});
