import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { ServiceLogger } from './service-logger.js';

describe('The line of an Error', () => {
  const { isTTY } = process.stdout;
  let written: string;

  beforeEach(() => {
    written = '';
    process.stdout.isTTY = false;
    jest.spyOn(process.stdout, 'write').mockImplementation((text) => {
      written += String(text);
      return true;
    });
    Logger.overrideLogger(new ServiceLogger('info'));
  });

  afterEach(() => {
    jest.restoreAllMocks();
    process.stdout.isTTY = isTTY;
  });

  it('has its message, and the stacks of the error and of its causes, but no other members', () => {
    const cause = Object.assign(new TypeError('the cause'), { detail: 'a-secret' });

    new Logger('Garden').error(new Error('it failed', { cause }));

    expect(JSON.parse(written)).toEqual({
      level: 'error',
      time: expect.any(String) as unknown,
      context: 'Garden',
      message: 'it failed',
      stack: expect.stringMatching(/^Error: it failed\n +at [^]+\nCaused by: TypeError: the cause\n +at /) as unknown,
    });
    expect(written).not.toContain('a-secret');
  });
});
