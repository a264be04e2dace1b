import { isSameRow, plantOf, rowOf, trialPlants } from './plant-rows.js';

describe('A row of a plant', () => {
  it('has null for an absent tag, and no other value for an empty one', () => {
    expect(rowOf({ id: 1n, name: 'a' })).toEqual([1n, 'a', null]);
    expect(rowOf({ id: 1n, name: '', tag: '' })).toEqual([1n, '', '']);
    expect(plantOf([1n, 'a', null])).toStrictEqual({ id: 1n, name: 'a', tag: undefined });
    expect(plantOf([1n, '', ''])).toStrictEqual({ id: 1n, name: '', tag: '' });
  });

  it('is the same only in all of its columns', () => {
    expect(isSameRow([1n, 'a', null], [1n, 'a', null])).toBe(true);
    for (const other of [[2n, 'a', null], [1, 'a', null], [1n, 'A', null], [1n, 'a', ''], [1n, 'a'], []]) {
      expect(isSameRow([1n, 'a', null], other)).toBe(false);
    }
  });
});

describe('The plants of a trial', () => {
  it('have ids of their own in each trial, long texts beyond the first plane, and a tag or none', () => {
    const ids = new Set(
      Array.from({ length: 50 }, () => trialPlants()).flatMap((plants) => plants.map(({ id }) => id)),
    );
    const text = `a${'\u{1fab4}'.repeat(1_000)}`;

    expect(ids.size).toBe(100);
    for (const id of ids) expect(id > -(2n ** 63n) && id < -(2n ** 61n)).toBe(true);
    expect(trialPlants()).toMatchObject([{ name: text, tag: text }, { name: text }]);
    expect(trialPlants()[1]?.tag).toBeUndefined();
  });
});
