import { OperatorError } from '../operator-error.js';
import { explainListenError } from './listen-error.js';

describe('explainListenError', () => {
  it.each([
    ['EADDRINUSE', 'the port is in use: is the service already running? Otherwise, set another port'],
    ['EACCES', 'this user may not use the port: set one from 1024 on'],
    ['EADDRNOTAVAIL', 'set an address of this machine'],
    ['EINVAL', 'set an address of this machine, and a port that is free'],
  ])('says what to do about %s', (code, advice) => {
    const cause = Object.assign(new Error(`listen ${code}`), { code, syscall: 'listen' });

    expect(explainListenError('HOST and PORT', '10.0.0.1', 80, cause)).toEqual(
      new OperatorError(`HOST and PORT: cannot listen on 10.0.0.1:80 (${code}): ${advice}`),
    );
  });

  it('leaves a defect as it is', () => {
    const defect = new TypeError('a defect');

    expect(explainListenError('HOST and PORT', '10.0.0.1', 80, defect)).toBe(defect);
  });

  it('names an IPv6 address in brackets', () => {
    const cause = Object.assign(new Error('listen EADDRINUSE'), { code: 'EADDRINUSE', syscall: 'listen' });

    expect(explainListenError('HOST and PORT', '::', 3000, cause)).toMatchObject({
      message: expect.stringContaining(' cannot listen on [::]:3000 (EADDRINUSE)') as string,
    });
  });
});
