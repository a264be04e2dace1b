import { randomUUID } from 'node:crypto';
import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import Database from 'better-sqlite3';
import { sqliteFile } from './open-repository.js';
import { sqliteStartError } from './sqlite-engine.js';

/** Milliseconds that the backup waits for a service that has just started, or is about to end. */
const TIMEOUT = 5_000;

/** Pages that are copied between two reports of progress: 4 MiB. */
const PAGES = 1_024;

/** A store that is not backed up by this program; the message is one line that says what else to do. */
export class NoBackupError extends Error {
  override readonly name = 'NoBackupError';
}

/**
 * Copies a store to a file that did not exist, while services go on writing to it: all that was acknowledged before the
 * call is in the copy, and of what comes later either nothing or whole batches. The file appears complete, checked and
 * on the disk, or not at all.
 *
 * @param url as for `openRepository`
 * @param onProgress is told again and again which part of the copy is done, from 0 to 1; what it throws ends the copy
 * @returns how many plants are in the copy
 * @throws {NoBackupError} when the URL names a store that this cannot copy
 */
export async function backUp(url: string, target: string, onProgress: (part: number) => void): Promise<number> {
  const file = sqliteFile(url);
  if (file === undefined) {
    throw new NoBackupError('a PostgreSQL database is backed up with its own tools: pg_dump, or pg_basebackup');
  }
  if (file === ':memory:') throw new NoBackupError('a database in memory ends with its process: there is no backup');
  assertNew(target);
  const draft = `${target}.${randomUUID()}`;
  try {
    await copy(file, draft, onProgress);
    const count = check(draft);
    sync(draft);
    assertNew(target);
    renameSync(draft, target);
    sync(dirname(resolve(target)));
    return count;
  } catch (error) {
    for (const suffix of ['', '-journal', '-wal', '-shm']) rmSync(draft + suffix, { force: true });
    throw error;
  }
}

function assertNew(target: string): void {
  if (existsSync(target)) throw new Error(`${target} exists already, and is not overwritten: name another file`);
}

async function copy(file: string, draft: string, onProgress: (part: number) => void): Promise<void> {
  const connection = openSnapshot(file);
  try {
    create(draft);
    await connection.backup(draft, {
      progress: ({ totalPages, remainingPages }) => {
        onProgress(1 - remainingPages / totalPages);
        return PAGES;
      },
    });
  } finally {
    connection.close();
  }
}

/** A connection that sees the database as it is now, whatever is written to it from now on. */
function openSnapshot(file: string): Database.Database {
  if (!existsSync(file)) throw new Error(`there is no database ${file}: DATABASE_URL must name one that exists`);
  let connection: Database.Database | undefined;
  try {
    connection = new Database(file, { fileMustExist: true, timeout: TIMEOUT });
    // Without a transaction that holds the snapshot, each commit of a service would begin the copy anew.
    connection.exec('BEGIN');
    connection.prepare('SELECT id FROM plants LIMIT 1').all();
    return connection;
  } catch (error) {
    connection?.close();
    throw sqliteStartError(file, error);
  }
}

function create(draft: string): void {
  try {
    closeSync(openSync(draft, 'wx'));
  } catch (cause) {
    throw new Error(`${dirname(draft)} takes no backup: name a file in a directory where this user may write`, {
      cause,
    });
  }
}

/** @returns how many plants there are */
function check(draft: string): number {
  const connection = new Database(draft);
  try {
    // One file that can be opened everywhere, on a read-only medium too, where a write-ahead log would need more.
    connection.pragma('journal_mode = DELETE');
    const found = connection.pragma('integrity_check', { simple: true });
    if (found !== 'ok')
      throw new Error(`the database is damaged, there is no backup: ${String(found).replaceAll('\n', ' ')}`);
    return connection.prepare<[], number>('SELECT count(*) FROM plants').pluck().get() ?? 0;
  } finally {
    connection.close();
  }
}

function sync(path: string): void {
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
