import { FirstKnownVerifier } from './first-known-verifier.js';
import type { TokenVerifier, VerificationResult } from './token-verifier.js';

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
    { results: [{ name: 'a' }, { name: 'b' }], result: { name: 'a' }, asked: 1 },
    { results: ['unknown', undefined, { name: 'c' }], result: { name: 'c' }, asked: 3 },
    { results: ['expired', { name: 'b' }], result: 'expired', asked: 1 },
    { results: ['unknown', undefined], result: 'unknown', asked: 2 },
    { results: [], result: 'unknown', asked: 0 },
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
