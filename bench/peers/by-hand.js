/**
 * Plant Store by hand: the same work for a request on `node:http`, without a framework. It checks the token, the message
 * and the body in the same order, keeps ids exact, shares a commit among the requests of a turn, logs a line a request,
 * and gives the contract's answers. It has no metrics, no TLS, no limits for many clients together, and no checks of the
 * database's files.
 */
import { isUtf8 } from 'node:buffer';
import { hash, randomUUID, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';
import Database from 'better-sqlite3';
import { destination, pino } from 'pino';

const BODY_LIMIT = 1_048_576;
const BATCH_SIZE = 1_024;
const QUEUE_LENGTH = 4_096;
const [MIN_ID, MAX_ID] = [-(2n ** 63n), 2n ** 63n - 1n];
const INTEGER = `an integer from ${MIN_ID} to ${MAX_ID}`;
const TEXT = 'a string without U+0000 and unpaired surrogates';

const MESSAGES = {
  400: 'The request is not valid: send HTTP/1.1 (RFC 9112), with a NewPlant as JSON in UTF-8.',
  401: 'A valid token is required: send the header "Authorization: Bearer <ACCESS_TOKEN>".',
  404: 'There is no such path.',
  405: 'This path does not support this method: use POST.',
  408: 'The request did not arrive in time: send it again without pauses.',
  409: 'This id already belongs to a plant with another name or tag: choose another id.',
  413: `The body is too large: at most ${BODY_LIMIT} bytes are accepted.`,
  415: 'Send the body uncompressed, with the header "Content-Type: application/json".',
  422: 'The body must be a JSON object with the fields of a NewPlant: id, name and optionally tag.',
  431: 'The headers are too large: send fewer or shorter ones.',
  500: 'The service failed. This is a defect of the service, not of the request.',
  503: 'The service is temporarily unavailable: send the same request again after the seconds in Retry-After.',
};

/** A failure, which is answered with status 400 and an Error object. */
class Refusal extends Error {
  constructor(error, message = MESSAGES[error], headers = []) {
    super(message);
    this.error = error;
    this.headers = headers;
  }
}

// The token

const PRINCIPALS = [{ name: 'token-1', digest: digestOf(process.env.TOKEN) }];

function digestOf(token) {
  return hash('sha256', token, 'buffer');
}

/** Returns the name of the principal. The time does not depend on how much of the token is right. */
function authenticate({ authorization = '' }) {
  const [, token] = /^bearer +([\w\-.~+/]+=*)$/i.exec(authorization) ?? [];
  const digest = token && digestOf(token);
  const principal = digest && PRINCIPALS.findLast((candidate) => timingSafeEqual(candidate.digest, digest));
  if (principal) return principal.name;
  const detail = /^bearer +./i.test(authorization) ? ', error="invalid_token"' : '';
  throw new Refusal(401, undefined, ['WWW-Authenticate', `Bearer realm="plants"${detail}`]);
}

// The message and its body

function assertRoute({ method, url }) {
  if (!/^\/plants(?:\?|$)/.test(url)) throw new Refusal(404);
  if (method !== 'POST') throw new Refusal(405, undefined, ['Allow', 'POST']);
}

function assertBody({ headers }) {
  const { 'content-length': length = '0', 'content-type': type = '', 'content-encoding': coding } = headers;
  if (Number(length) === 0 && headers['transfer-encoding'] === undefined) {
    throw new Refusal(400, 'There is no body: send a NewPlant as JSON.');
  }
  if (coding !== undefined || !/^application\/json[ \t]*(?:;|$)/i.test(type)) throw new Refusal(415);
  if (Number(length) > BODY_LIMIT) throw new Refusal(413);
}

function readBody(request) {
  return new Promise((resolve, reject) => {
    const chunks = [];
    let length = 0;
    request.on('data', (chunk) => {
      length += chunk.length;
      if (length > BODY_LIMIT) reject(new Refusal(413));
      else chunks.push(chunk);
    });
    request.on('end', () => resolve(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks)));
    request.on('error', () => reject(new Refusal(400)));
  });
}

const JSON_TOKEN = /[{}[\],:]|"(?:[^"\\]|\\.)*"|[^\s{}[\],:"]+/g;
const JSON_NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

function parsePlant(body) {
  if (!isUtf8(body)) throw new Refusal(400, 'The body is not UTF-8: send JSON in this encoding (RFC 8259 §8.1).');
  const text = body.toString();
  let parsed;
  try {
    parsed = JSON.parse(text);
  } catch {
    throw new Refusal(400, 'The body is not JSON: send an object such as {"id":1,"name":"Monstera"}.');
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) throw new Refusal(422);
  const { name, tag } = parsed;
  const id = exactInteger(sourceOfId(text));
  const problems = [
    id !== undefined && id >= MIN_ID && id <= MAX_ID ? [] : problemOf('id', parsed.id, INTEGER),
    isText(name) ? [] : problemOf('name', name, TEXT),
    tag === undefined || isText(tag) ? [] : problemOf('tag', tag, TEXT),
  ].flat();
  if (problems.length > 0) throw new Refusal(422, `${problems.join('; ')}.`);
  return { id, name, tag };
}

function problemOf(field, value, required) {
  if (value === undefined) return `${field} is missing: it must be ${required}`;
  if (field === 'id' && typeof value === 'string') return `id must be ${required}: send it without quotation marks`;
  if (field === 'tag' && value === null) return `tag must be ${required}: leave it out if there is none`;
  return `${field} must be ${required}`;
}

function isText(value) {
  return typeof value === 'string' && !/[\0\p{Surrogate}]/u.test(value);
}

/** Returns the text of the id, because JSON.parse rounds numbers. It also hides fields that are given twice. */
function sourceOfId(json) {
  const seen = [];
  let [depth, before, name, source] = [0, '', '', ''];
  for (const [token] of json.matchAll(JSON_TOKEN)) {
    if (depth === 1 && before === ':' && name === 'id') source = token;
    if (token === '{' || token === '[') depth += 1;
    else if (token === '}' || token === ']') depth -= 1;
    else if (token === ':' && depth === 1) {
      name = JSON.parse(before);
      if (seen.includes(name)) throw new Refusal(400, `The field ${name} is given twice: give it once.`);
      if (['id', 'name', 'tag'].includes(name)) seen.push(name);
    }
    before = token;
  }
  return source;
}

/** Returns the value of a JSON number that is an integer of at most 19 digits, in any spelling: 7, 7.0, 70e-1. */
function exactInteger(text) {
  const [, sign, whole = '', fraction = '', exponent = '0'] = JSON_NUMBER.exec(text) ?? [];
  if (sign === undefined) return undefined;
  const digits = (whole + fraction).replace(/0+$/, '');
  const zeros = Number(exponent) + whole.length - digits.length;
  const significant = digits.replace(/^0+/, '');
  if (significant === '') return 0n;
  if (zeros < 0 || significant.length + zeros > 19) return undefined;
  return BigInt(sign + significant + '0'.repeat(zeros));
}

// The store

const database = new Database('plants.db');
for (const setting of ['journal_mode = WAL', 'synchronous = FULL', 'wal_autocheckpoint = 2000', 'cache_size = -4096']) {
  database.pragma(setting);
}
database.exec('CREATE TABLE plants (id INTEGER PRIMARY KEY, name TEXT NOT NULL, tag TEXT) STRICT');
const insert = database.prepare('INSERT INTO plants (id, name, tag) VALUES (?, ?, ?) ON CONFLICT (id) DO NOTHING');
const find = database.prepare('SELECT name, tag FROM plants WHERE id = ?');
const commit = database.transaction((batch) => batch.map(({ plant }) => add(plant))).immediate;

function add({ id, name, tag = null }) {
  if (insert.run(id, name, tag).changes === 1) return 'created';
  const stored = find.get(id);
  return stored.name === name && stored.tag === tag ? 'repeated' : 'conflict';
}

let queue = [];

/** Resolves when the plant is on disk. */
function store(plant) {
  return new Promise((resolve, reject) => {
    if (queue.length >= QUEUE_LENGTH) throw new Refusal(503, undefined, ['Retry-After', '1']);
    // Other requests that are read in this turn of the event loop belong to the same batch.
    if (queue.length === 0) setImmediate(commitQueue);
    queue.push({ plant, resolve, reject });
  });
}

function commitQueue() {
  const waiting = queue;
  queue = [];
  while (waiting.length > 0) {
    const batch = waiting.splice(0, BATCH_SIZE);
    try {
      const outcomes = commit(batch);
      batch.forEach(({ resolve }, index) => resolve(outcomes[index]));
    } catch (error) {
      log.error(error, 'A batch was not stored');
      for (const { reject } of batch) reject(new Refusal(503, undefined, ['Retry-After', '1']));
    }
  }
}

// The answer

const log = pino(
  { base: null, messageKey: 'message' },
  destination({ sync: false, minLength: 8_192, periodicFlush: 10 }),
);

async function create(request, entry) {
  entry.principal = authenticate(request.headers);
  assertRoute(request);
  assertBody(request);
  const { id, name, tag } = parsePlant(await readBody(request));
  if ((await store({ id, name, tag })) === 'conflict') throw new Refusal(409);
  return { name, tag };
}

function answer(response, entry, status, content, headers = []) {
  const body = JSON.stringify(content);
  const { complete } = response.req;
  response.writeHead(status, [
    ...['X-Content-Type-Options', 'nosniff', 'Cache-Control', 'no-store', 'X-Request-Id', entry.requestId],
    ...['Content-Type', 'application/json', 'Content-Length', Buffer.byteLength(body)],
    // The rest of a body that was not read would be taken for a request.
    ...(complete ? headers : [...headers, 'Connection', 'close']),
  ]);
  response.end(body);
  const duration = Math.round((performance.now() - entry.begun) * 1_000) / 1_000;
  const { method, url, socket } = response.req;
  const { requestId, principal } = entry;
  const path = url.split('?', 1)[0];
  log.info(
    { requestId, principal, method, path, status, error: content.error, duration, address: socket.remoteAddress },
    'request',
  );
}

const server = createServer((request, response) => {
  const given = request.headers['x-request-id'] ?? '';
  const entry = { begun: performance.now(), requestId: /^[\w.~-]{1,128}$/.test(given) ? given : randomUUID() };
  create(request, entry).then(
    (plant) => answer(response, entry, 200, plant),
    (error) => {
      const refusal = error instanceof Refusal ? error : new Refusal(500);
      if (refusal.error === 500) log.error(error, `The request ${entry.requestId} failed`);
      answer(response, entry, 400, { error: refusal.error, message: refusal.message }, refusal.headers);
    },
  );
});
server.on('clientError', ({ code }, socket) => {
  const error = { HPE_HEADER_OVERFLOW: 431, ERR_HTTP_REQUEST_TIMEOUT: 408 }[code] ?? 400;
  const body = JSON.stringify({ error, message: MESSAGES[error] });
  socket.end(
    `HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
});
server.listen(0, '127.0.0.1', () => console.log(`Listening: http://127.0.0.1:${server.address().port}`));
