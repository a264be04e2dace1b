import { ExpiredToken } from './token-verifier.js';
import { checkResult } from './check-result.js';

describe('The result of a verifier', () => {
  it('may be undefined, a reason, a principal, or an expired token, which a principal may be, too', () => {
    const principal = { name: '', scopes: [], expires: new Date(Date.now() + 60_000) };
    const former = { name: 'former', expires: new Date(0) };
    expect(checkResult(undefined)).toBe('unknown');
    expect(checkResult('wrong-type')).toBe('wrong-type');
    expect(checkResult(principal)).toBe(principal);
    expect(checkResult(new ExpiredToken(former))).toEqual(new ExpiredToken(former));
    expect(checkResult(former)).toEqual(new ExpiredToken(former));
  });
});
