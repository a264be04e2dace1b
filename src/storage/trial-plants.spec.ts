import { isSameRow, trialPlants } from './trial-plants.js';

describe('The plants of a trial', () => {
  it('have ids of their own in each trial, long texts beyond the first plane, digits, and a tag or none', () => {
    const ids = new Set(
      Array.from({ length: 50 }, () => trialPlants()).flatMap((plants) => plants.map(({ id }) => id)),
    );
    const text = `a${'\u{1fab4}'.repeat(1_000)}`;

    expect(ids.size).toBe(150);
    for (const id of ids) expect(id > -(2n ** 63n) && id < -(2n ** 61n)).toBe(true);
    expect(trialPlants()).toMatchObject([{ name: text, tag: text }, { name: text }, { name: '007', tag: '007' }]);
    expect(trialPlants()[1]?.tag).toBeUndefined();
  });

  it('come back as the same row only if all of its columns are the same', () => {
    expect(isSameRow([1n, 'a', null], [1n, 'a', null])).toBe(true);
    for (const other of [[2n, 'a', null], [1, 'a', null], [1n, 'A', null], [1n, 'a', ''], [1n, 'a'], []]) {
      expect(isSameRow([1n, 'a', null], other)).toBe(false);
    }
  });
});
