/** Elysia on Bun as its documentation shows it, with Bun's own SQLite, and with pino through its plugin. */
import { Database } from 'bun:sqlite';
import { logger } from '@bogeychan/elysia-logger';
import { bearer } from '@elysiajs/bearer';
import { Elysia, t } from 'elysia';

const database = new Database('plants.db');
database.run('PRAGMA journal_mode = WAL');
database.run('PRAGMA synchronous = FULL');
database.run('CREATE TABLE plants (id INTEGER PRIMARY KEY, name TEXT NOT NULL, tag TEXT) STRICT');
const insert = database.prepare('INSERT INTO plants (id, name, tag) VALUES (?, ?, ?)');

const app = new Elysia();
if (process.env.REQUEST_LOG !== 'off') app.use(logger());
app
  .use(bearer())
  .post(
    '/plants',
    ({ body: { id, name, tag } }) => {
      insert.run(id, name, tag ?? null);
      return { name, tag };
    },
    {
      beforeHandle({ bearer: token, status }) {
        return token === process.env.TOKEN ? undefined : status(401);
      },
      body: t.Object({ id: t.Integer(), name: t.String(), tag: t.Optional(t.String()) }),
      response: { 200: t.Object({ name: t.String(), tag: t.Optional(t.String()) }), 401: t.Any() },
    },
  )
  .listen({ hostname: '127.0.0.1', port: 0 });
console.log(`Listening: http://127.0.0.1:${app.server.port}`);
