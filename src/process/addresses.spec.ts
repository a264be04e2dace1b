import { OperatorError } from '../operator-error.js';
import { docsOrigins, explainListenError, originOf } from './addresses.js';

describe('originOf', () => {
  it.each([
    ['127.0.0.1', 'http://127.0.0.1:3000'],
    ['192.0.2.10', 'http://192.0.2.10:3000'],
    ['0.0.0.0', 'http://127.0.0.1:3000'],
    ['::', 'http://[::1]:3000'],
    ['2001:db8::', 'http://[2001:db8::]:3000'],
    ['plants.example', 'http://plants.example:3000'],
  ])('names for the host %s the origin %s, which a client on this machine can reach', (host, origin) => {
    expect(originOf('http', host, 3000)).toBe(origin);
  });
});

describe('docsOrigins', () => {
  it.each([
    ['127.0.0.1', 3001, ['http://localhost:3001', 'http://127.0.0.1:3001']],
    ['::1', 3001, ['http://localhost:3001', 'http://[::1]:3001']],
    ['0.0.0.0', 3001, ['localhost', '127.0.0.1', '[::1]'].map((name) => `http://${name}:3001`)],
    // Browsers leave out the default port of a scheme.
    ['Plants.Example', 80, ['http://localhost', 'http://plants.example']],
  ])('writes the origins of %s, port %i, as browsers do', (host, port, origins) => {
    expect(docsOrigins(host, port)).toEqual(origins);
  });
});

describe('explainListenError', () => {
  it('says what to do about an address that the system refuses', () => {
    const cause = Object.assign(new Error('listen EADDRINUSE'), { code: 'EADDRINUSE', syscall: 'listen' });

    expect(explainListenError('HOST and PORT', '::', 80, cause)).toEqual(
      new OperatorError(
        'HOST and PORT: cannot listen on [::]:80 (EADDRINUSE): is the service already running? Otherwise, set another port',
      ),
    );
  });

  it('leaves a defect as it is', () => {
    const defect = new TypeError('a defect');

    expect(explainListenError('HOST and PORT', '10.0.0.1', 80, defect)).toBe(defect);
  });
});
