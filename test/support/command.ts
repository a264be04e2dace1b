import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Variables } from './node-process.js';

export interface Run {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** The program, which `npm test` builds first. */
export const MAIN = join(import.meta.dirname, '../../dist/main.js');

/**
 * Starts a command of the program without a terminal.
 *
 * @param wrapper a program that starts it, with its parameters
 */
export function spawnCommand(
  name: string,
  directory: string,
  parameters: readonly string[],
  variables: Variables = {},
  wrapper: readonly string[] = [],
): ChildProcessWithoutNullStreams {
  const [program, ...rest] = [...wrapper, process.execPath, MAIN, name, ...parameters] as [string, ...string[]];
  return spawn(program, rest, {
    cwd: directory,
    env: { PATH: process.env.PATH, ...variables },
  });
}

/** Runs a command to its end, with this text on stdin. */
export async function runCommand(
  name: string,
  directory: string,
  parameters: readonly string[],
  variables?: Variables,
  input = '',
  wrapper?: readonly string[],
): Promise<Run> {
  const child = spawnCommand(name, directory, parameters, variables, wrapper);
  const run = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => (run.stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (run.stderr += text));
  // The command may end before it has read its input.
  child.stdin.on('error', () => undefined).end(input);
  const [status] = (await once(child, 'close')) as [number | null];
  return { ...run, status };
}
