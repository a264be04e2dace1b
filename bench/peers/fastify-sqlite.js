/** Fastify as its documentation shows it, on SQLite. */
import Database from 'better-sqlite3';
import { serve } from './fastify.js';

const database = new Database('plants.db');
database.pragma('journal_mode = WAL');
database.pragma('synchronous = FULL');
database.exec('CREATE TABLE plants (id INTEGER PRIMARY KEY, name TEXT NOT NULL, tag TEXT) STRICT');
const insert = database.prepare('INSERT INTO plants (id, name, tag) VALUES (?, ?, ?)');

await serve(({ id, name, tag }) => insert.run(id, name, tag ?? null));
