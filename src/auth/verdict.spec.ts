import { ExpiredToken } from './token-verifier.js';
import { toVerdict } from './verdict.js';

describe('The result of a verifier', () => {
  it('may be undefined, a reason, a principal, or an expired token, which a principal may be, too', () => {
    const principal = { name: '', scopes: [], expires: new Date(Date.now() + 60_000) };
    const former = { name: 'former', expires: new Date(0) };
    expect(toVerdict(undefined)).toBe('unknown');
    expect(toVerdict('wrong-type')).toBe('wrong-type');
    expect(toVerdict(principal)).toBe(principal);
    expect(toVerdict(new ExpiredToken(former))).toEqual(new ExpiredToken(former));
    expect(toVerdict(former)).toEqual(new ExpiredToken(former));
  });
});
