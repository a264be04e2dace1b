import { FirstKnownVerifier } from './first-known-verifier.js';
import type { TokenVerifier, VerificationResult } from './token-verifier.js';

const A: VerificationResult = { name: 'a', scopes: 'all' };
const B: VerificationResult = { name: 'b', scopes: [] };

/** Returns a verifier with this result, which notes its calls. */
function verifierOf(result: VerificationResult, calls: string[] = [], name = ''): TokenVerifier {
  const note = (call: string): void => void calls.push(`${name} ${call}`);
  return {
    verify: () => {
      note('verify');
      return result;
    },
    onModuleInit: () => note('init'),
    onApplicationShutdown: () => note('shutdown'),
  };
}

describe('Several verifiers', () => {
  it.each<{ results: VerificationResult[]; result: VerificationResult; asked: number }>([
    { results: [A, B], result: A, asked: 1 },
    { results: [undefined, undefined, A], result: A, asked: 3 },
    { results: [{ refused: 'expired' }, B], result: { refused: 'expired' }, asked: 1 },
    { results: [undefined, undefined], result: undefined, asked: 2 },
    { results: [], result: undefined, asked: 0 },
  ])('with the results $results have the result of the first that knows the token', async (row) => {
    const calls: string[] = [];
    const verifiers = new FirstKnownVerifier(row.results.map((result) => verifierOf(result, calls)));

    expect(await verifiers.verify('token')).toEqual(row.result);
    expect(calls).toHaveLength(row.asked);
  });

  it('get the hooks of Nest in turn, if they have them', async () => {
    const calls: string[] = [];
    const none = { verify: () => undefined };
    const verifiers = new FirstKnownVerifier([
      verifierOf(undefined, calls, 'a'),
      none,
      verifierOf(undefined, calls, 'b'),
    ]);
    await verifiers.onModuleInit();
    await verifiers.onApplicationShutdown();

    expect(calls).toEqual(['a init', 'b init', 'a shutdown', 'b shutdown']);
  });
});
