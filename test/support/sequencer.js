import Sequencer from '@jest/test-sequencer';

/** The spec files that take the longest. */
const LONG =
  /test\/(?:http\/memory|storage\/(?:store-faults|database-faults|database-server)|plants\/new-plant\.property|embedding\/package|process\/workers|config\/environment)\./;

/** Starts the longest files first, so that none of them runs alone at the end. Jest orders the others by size. */
export default class LongestFirst extends Sequencer {
  sort(tests) {
    const rank = ({ path }) => (LONG.test(path) ? 0 : 1);
    return [...super.sort(tests)].sort((one, another) => rank(one) - rank(another));
  }
}
