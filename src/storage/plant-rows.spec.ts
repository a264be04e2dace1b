import { plantOf, rowOf } from './plant-rows.js';

describe('A row of a plant', () => {
  it('has null for an absent tag, and no other value for an empty one', () => {
    expect(rowOf({ id: 1n, name: 'a' })).toEqual([1n, 'a', null]);
    expect(rowOf({ id: 1n, name: '', tag: '' })).toEqual([1n, '', '']);
    expect(plantOf([1n, 'a', null])).toStrictEqual({ id: 1n, name: 'a', tag: undefined });
    expect(plantOf([1n, '', ''])).toStrictEqual({ id: 1n, name: '', tag: '' });
  });
});
