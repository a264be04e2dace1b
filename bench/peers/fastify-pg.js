/** Fastify as its documentation shows it, on PostgreSQL. */
import pg from 'pg';
import { serve } from './fastify.js';

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL });
await pool.query('CREATE TABLE IF NOT EXISTS plants (id BIGINT PRIMARY KEY, name TEXT NOT NULL, tag TEXT)');

await serve(({ id, name, tag }) =>
  pool.query({
    name: 'insert',
    text: 'INSERT INTO plants (id, name, tag) VALUES ($1, $2, $3)',
    values: [id, name, tag ?? null],
  }),
);
