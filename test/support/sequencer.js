import Sequencer from '@jest/test-sequencer';

/** The spec files that take the longest, in this order. */
const LONGEST = [
  'commands/token',
  'commands/move',
  'commands/program',
  'process/start',
  'papers/embedding',
  'storage/database-faults',
  'storage/database-server',
  'commands/interrupted',
  'storage/crash',
  'storage/store-faults',
  'embedding/package',
];

/** Starts the longest files first, so that none of them runs alone at the end. Jest orders the others by size. */
export default class LongestFirst extends Sequencer {
  sort(tests) {
    const rank = ({ path }) => {
      const index = LONGEST.findIndex((name) => path.includes(`/test/${name}.`));
      return index < 0 ? LONGEST.length : index;
    };
    return [...super.sort(tests)].sort((one, another) => rank(one) - rank(another));
  }
}
