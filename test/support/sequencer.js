import Sequencer from '@jest/test-sequencer';

/** The spec files that take the longest, in this order. */
const LONGEST = [
  'process/unread-log',
  'embedding/package',
  'http/timeouts',
  'storage/database-server',
  'config/environment',
  'http/shutdown',
  'commands/move',
  'storage/crash',
  'storage/database-faults',
  'storage/database-repository',
  'management/listener',
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
