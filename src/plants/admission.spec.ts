import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { ContractException } from '../contract/contract.exception.js';
import type { StoredPlant } from '../storage/plant-repository.js';
import { Admission } from './admission.js';

const MIB = 1_048_576;

/** Returns a plant that counts as so many bytes: an even number from 512. */
function plantOf(bytes: number): StoredPlant {
  return { id: 1n, name: 'x'.repeat((bytes - 512) / 2) };
}

const SMALLEST = plantOf(512);

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

  it.each<[string, 400 | 503, (answer: ServerResponse) => unknown]>([
    ['whose client has gone', 400, (answer) => answer.req.socket.destroy()],
    ['that the host has answered', 503, (answer) => answer.end()],
  ])('does not admit a request %s, which would count forever', (_what, error, end) => {
    const admission = new Admission(MIB);
    const answer = newAnswer();
    end(answer);
    answer.emit('close');

    expect(() => admission.admitRequest(answer)).toThrow(expect.objectContaining({ error }) as Error);
    expect(fill(admission)).toHaveLength(2_048);
  });

  it('admits nothing while bodies and plants occupy too many bytes, until an answer was taken or a body was refused', () => {
    const admission = new Admission(MIB);
    const answer = newAnswer();
    const chargeFirst = admission.admitRequest(answer);
    const chargeSecond = admission.admitRequest(newAnswer());

    expect(chargeFirst(8 * MIB)).toBe(true);
    expect(chargeSecond(4 * MIB)).toBe(true);
    const release = admission.admitPlant(plantOf(4 * MIB + 2));
    expect(fill(admission)).toHaveLength(0);
    expect(chargeSecond(1)).toBe(false);
    expect(admission.admitRequest(newAnswer())(4 * MIB - 2)).toBe(true);
    admission.admitPlant(SMALLEST);
    release();
    expect(admission.admitRequest(newAnswer())(4 * MIB - 510)).toBe(true);
    expect(admission.admitRequest(newAnswer())(1)).toBe(false);
    answer.emit('close');
    expect(admission.admitRequest(newAnswer())(8 * MIB)).toBe(true);
    expect(admission.admitRequest(newAnswer())(1)).toBe(false);
  });

  it('counts a plant whose client has gone until it has left', () => {
    const admission = new Admission(MIB);
    const answer = newAnswer();
    admission.admitRequest(answer);
    const release = admission.admitPlant(plantOf(16 * MIB + 2));
    answer.emit('close');

    expect(fill(admission)).toHaveLength(0);
    release();
    expect(fill(admission)).toHaveLength(2_048);
  });

  it('has no room for the body of a request whose client has gone', () => {
    const admission = new Admission(MIB);
    const answer = newAnswer();
    const charge = admission.admitRequest(answer);
    answer.emit('close');

    expect(charge(1)).toBe(false);
  });

  it('admits 2,048 plants, whatever the number of requests, and others when one has left', () => {
    const admission = new Admission(MIB);
    const release = admission.admitPlant(SMALLEST);
    for (let count = 1; count < 2_048; count += 1) admission.admitPlant(SMALLEST);

    expect(() => admission.admitPlant(SMALLEST)).toThrow(new ContractException(503));
    expect(fill(admission)).toHaveLength(2_048);
    release();
    expect(() => admission.admitPlant(SMALLEST)).not.toThrow();
  });

  it('has room for two bodies of the greatest length', () => {
    const admission = new Admission(254 * MIB);

    expect(admission.admitRequest(newAnswer())(508 * MIB)).toBe(true);
  });

  it('closes the oldest connection that has not taken its answer for a further request', () => {
    const admission = new Admission(MIB);
    const answers = [newAnswer(), newAnswer(), newAnswer(), newAnswer()];
    for (const answer of answers) admission.admitRequest(answer)(4 * MIB);
    admission.admitPlant(SMALLEST);
    for (const answer of answers.slice(1)) answer.end('x'.repeat(20_000));
    admission.admitRequest(newAnswer());

    expect(answers.map(({ destroyed }) => destroyed)).toEqual([false, true, false, false]);
  });

  it('closes the oldest connection that has not taken its answer for a body that needs its room', () => {
    const admission = new Admission(MIB);
    const answers = [newAnswer(), newAnswer(), newAnswer()];
    const charges = answers.map((answer) => admission.admitRequest(answer));
    for (const charge of charges) charge(5 * MIB);
    for (const answer of answers.slice(0, 2)) answer.end('x'.repeat(20_000));

    expect(charges.at(-1)?.(5 * MIB)).toBe(true);
    expect(answers.map(({ destroyed }) => destroyed)).toEqual([true, false, false]);
  });

  it('closes when all plants have left, admits others meanwhile, and nothing afterwards', async () => {
    const admission = new Admission(MIB);
    admission.admitRequest(newAnswer());
    const releases = [admission.admitPlant(SMALLEST), admission.admitPlant(SMALLEST)];
    let isClosed = false;
    const closing = admission.close().then(() => (isClosed = true));
    for (const release of releases) {
      await new Promise(setImmediate);
      expect(isClosed).toBe(false);
      release();
    }
    const release = admission.admitPlant(SMALLEST);
    await new Promise(setImmediate);
    expect(isClosed).toBe(false);
    release();
    await closing;

    expect(() => admission.admitPlant(SMALLEST)).toThrow(ContractException);
    expect(fill(admission)).toHaveLength(0);
  });

  it('refuses calls of the host while plants occupy too many bytes', () => {
    const admission = new Admission(MIB);
    admission.admitPlant(plantOf(16 * MIB));
    expect(() => admission.assertRoom()).not.toThrow();
    const release = admission.admitPlant(SMALLEST);

    expect(() => admission.assertRoom()).toThrow(new ContractException(503));
    release();
    expect(() => admission.assertRoom()).not.toThrow();
  });
});
