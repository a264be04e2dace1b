import { existsSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { createFile } from './replace-file.js';

/** Milliseconds between two attempts to acquire a lock. */
const INTERVAL = 20;

/**
 * Acquires a lock file, which names its owner: a process that was killed leaves it behind, and the next one takes it
 * over. A lock of another machine or container, whose processes cannot be seen, counts as held.
 *
 * @param timeout milliseconds to wait for another owner
 * @returns a function that releases the lock; undefined if another owner has held it all the time
 * @throws {Error} of the system if the file cannot be written
 */
export async function acquireLock(file: string, timeout: number): Promise<(() => void) | undefined> {
  const owner = describeProcess(process.pid) ?? '';
  for (let waited = 0; waited <= timeout; waited += INTERVAL) {
    if (!existsSync(file) && createFile(file, owner)) return () => rmSync(file);
    if (isAbandoned(file)) await removeAbandoned(file, timeout);
    else await sleep(INTERVAL);
  }
  return undefined;
}

/** Removes an abandoned lock, under a lock of its own: otherwise, it could be the lock of the next owner already. */
async function removeAbandoned(file: string, timeout: number): Promise<void> {
  const release = await acquireLock(`${file}.takeover`, timeout);
  try {
    if (release !== undefined && isAbandoned(file)) rmSync(file);
  } finally {
    release?.();
  }
}

/** Returns whether the owner of a lock has ended. */
function isAbandoned(file: string): boolean {
  const owner = read(file) ?? '';
  const [, place, pid] = /^(.+) process (\d+) /.exec(owner) ?? [];
  if (place !== describePlace() || owner === describeProcess(Number(pid))) return false;
  // An owner may release the lock and end in between. Once it has ended, the file stays as it is.
  return read(file) === owner;
}

/** Identifies a process; undefined if it has ended. */
function describeProcess(pid: number): string | undefined {
  const start = startOf(pid);
  return start === undefined ? undefined : `${describePlace()} process ${pid} ${start}\n`;
}

/** Identifies the machine or container whose processes this one sees. */
function describePlace(): string {
  try {
    return `${hostname()} ${readlinkSync('/proc/self/ns/pid')}`;
  } catch {
    return hostname();
  }
}

/** Identifies the start of a process, because its number is used again; undefined if it has ended. */
function startOf(pid: number): string | undefined {
  const boot = read('/proc/sys/kernel/random/boot_id');
  if (boot === undefined) return isRunning(pid) ? 'started' : undefined;
  // proc_pid_stat(5): after the name in parentheses come the state (field 3) and others up to the start (field 22).
  const fields = read(`/proc/${pid}/stat`)?.split(') ').at(-1)?.split(' ') ?? [];
  return fields.length === 0 || fields[0] === 'Z' ? undefined : `${boot.trim()} ${fields[19] ?? ''}`;
}

/** Linux has /proc; other systems do not tell a process from a later one with its number. */
function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

function read(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}
