import { ContractException } from '../contract/contract.exception.js';
import { Admission } from './admission.js';

const MIB = 1_048_576;

/** Admits requests until one is refused, and returns how many were admitted. */
function fill(admission: Admission, principal?: string): number {
  for (let count = 0; ; count += 1) {
    try {
      admission.enter(principal);
    } catch (error) {
      expect(error).toEqual(new ContractException(503));
      return count;
    }
  }
}

describe('Admission', () => {
  it('admits as many requests of a principal as it leaves free', () => {
    const admission = new Admission(MIB);

    expect([fill(admission, 'first'), fill(admission, 'second'), fill(admission, 'third')]).toEqual([1_024, 512, 256]);
    admission.leave('first', 0);
    expect(fill(admission, 'fourth')).toBe(129);
  });

  it('admits requests without a principal until there is no place left', () => {
    expect(fill(new Admission(MIB))).toBe(2_048);
  });

  it('charges a principal no more bytes than it leaves free', () => {
    const admission = new Admission(MIB);
    for (const principal of ['first', 'second']) admission.enter(principal);

    expect(admission.charge('first', 12 * MIB)).toBe(true);
    expect(admission.charge('first', 1)).toBe(false);
    expect(fill(admission, 'first')).toBe(0);
    expect(admission.charge('second', 5 * MIB)).toBe(true);
    admission.leave('first', 12 * MIB + 1);
    expect(admission.charge('second', 7 * MIB)).toBe(true);
    expect(admission.charge('second', 1)).toBe(false);
  });

  it('has room for a body of the greatest length of a principal that is alone', () => {
    const admission = new Admission(256 * MIB);
    admission.enter('first');

    expect(admission.charge('first', 256 * MIB)).toBe(true);
  });
});
