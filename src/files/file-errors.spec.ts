import { OperatorError } from '../operator-error.js';
import { explainReadError, explainWriteError } from './file-errors.js';

/** Returns an error of the system. */
function systemError(code: string, syscall = 'open'): Error {
  return Object.assign(new Error(`${code}: ${syscall}`), { code, syscall });
}

describe('A file that cannot be written', () => {
  it.each([
    { code: 'ENOSPC', words: '/a/b cannot be written (ENOSPC): its disk is full' },
    { code: 'EDQUOT', words: '/a/b cannot be written (EDQUOT): its disk is full' },
    { code: 'EROFS', words: '/a/b cannot be written (EROFS): its file system is read-only' },
    { code: 'EISDIR', words: '/a/b cannot be written (EISDIR): it is a directory' },
    { code: 'ENAMETOOLONG', words: '/a/b cannot be written (ENAMETOOLONG): its name is too long' },
    { code: 'EACCES', words: '/a/b cannot be written (EACCES): this user must be able to write it and its directory' },
    { code: 'ENOENT', words: 'there is no directory /a: create it first' },
    { code: 'ENOTDIR', words: '/a is not a directory: name a file elsewhere' },
  ])('because of $code is named with the next step, with status 1', ({ code, words }) => {
    expect(explainWriteError('/a/b', systemError(code))).toMatchObject({
      status: 1,
      message: expect.stringContaining(words) as unknown,
    });
  });

  it('is blamed on hard links only where a link failed for no other reason', () => {
    expect(explainWriteError('/a/b', systemError('EPERM', 'link'))).toMatchObject({
      message: expect.stringContaining('must support hard links') as unknown,
    });
    expect(explainWriteError('/a/b', systemError('ENOSPC', 'link'))).toMatchObject({
      message: expect.stringContaining('its disk is full') as unknown,
    });
    expect(explainWriteError('/a/b', systemError('EEXIST', 'link'))).toMatchObject({
      message: '/a/b already exists: name another file',
    });
  });
});

describe('A file that cannot be read', () => {
  it.each([
    { code: 'ENOENT', message: 'there is no file /a/b: create it' },
    { code: 'ENOTDIR', message: 'there is no file /a/b: create it' },
    { code: 'EACCES', message: '/a/b cannot be read (EACCES): this user must be able to read it' },
    {
      code: 'EMFILE',
      message:
        '/a/b cannot be read (EMFILE): too many files are open, so raise the limit of the process, such as LimitNOFILE= of systemd',
    },
  ])('because of $code is named with the next step, with status 2', ({ code, message }) => {
    expect(explainReadError('/a/b', systemError(code), 'create it')).toMatchObject({ status: 2, message });
  });
});

describe('Any other error', () => {
  it.each([new TypeError('a defect'), new OperatorError('no'), undefined])('stays as it is: %s', (error) => {
    expect(explainReadError('/a/b', error)).toBe(error);
    expect(explainWriteError('/a/b', error)).toBe(error);
  });
});
