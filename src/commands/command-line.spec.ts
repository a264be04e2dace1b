import { counted } from './command-line.js';

describe('A number and its noun', () => {
  it('have the singular for one alone', () => {
    expect([0, 1, 2].map((count) => counted(count, 'plant'))).toEqual(['0 plants', '1 plant', '2 plants']);
  });
});
