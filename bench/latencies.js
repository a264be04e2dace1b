/** A load generator that records when each request was in flight, which wrk does not. */
import { randomInt } from 'node:crypto';
import { watch } from 'node:fs';
import { connect } from 'node:net';
import { TOKEN } from './programs.js';

/** Milliseconds without a write to the database after which its checkpoint has ended, the sync included. */
const PAUSE = 100;

/** A measurement goes on until it has seen this many checkpoints, but at most for this many times its duration. */
const CHECKPOINTS = 2;
const PATIENCE = 5;

/**
 * Creates plants, and returns the latencies in milliseconds: of the requests that were in flight during a checkpoint, and
 * of the others. A checkpoint begins with a write to the database: in WAL mode, nothing else writes to it.
 *
 * @param database the path of its file
 * @param connections number of connections, each with one request in flight
 * @param seconds the duration without waiting for checkpoints
 */
export async function measureCheckpoints(origin, database, connections, seconds) {
  const writes = [];
  const watcher = watch(database, () => {
    const now = performance.now();
    const last = writes.at(-1);
    if (last !== undefined && now - last.end < PAUSE) last.end = now;
    else writes.push({ begin: now, end: now });
  });
  const requests = [];
  const begun = performance.now();
  const hasEnded = () => {
    const elapsed = (performance.now() - begun) / 1_000;
    return elapsed > seconds && (writes.length >= CHECKPOINTS || elapsed > PATIENCE * seconds);
  };
  const { hostname, port } = new URL(origin);
  try {
    await Promise.all(Array.from({ length: connections }, () => keepCreating(hostname, port, requests, hasEnded)));
  } finally {
    watcher.close();
  }
  const during = ({ begin, end }) => writes.some((write) => begin <= write.end + PAUSE && end >= write.begin);
  const latencies = { during: [], otherwise: [] };
  for (const request of requests) {
    latencies[during(request) ? 'during' : 'otherwise'].push(request.end - request.begin);
  }
  return { checkpoints: writes.length, ...latencies };
}

/** Sends one request after another on a connection, until the measurement has ended. */
function keepCreating(host, port, requests, hasEnded) {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, noDelay: true });
    let begin;
    const send = () => {
      begin = performance.now();
      const body = `{"id":${randomInt(2 ** 47)},"name":"Monstera deliciosa","tag":"indoor"}`;
      socket.write(
        `POST /plants HTTP/1.1\r\nHost: ${host}:${port}\r\nAuthorization: Bearer ${TOKEN}\r\n` +
          `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
      );
    };
    socket.on('connect', send);
    // An answer is short, and comes in one packet.
    socket.on('data', (answer) => {
      if (!answer.toString('latin1').startsWith('HTTP/1.1 200 ')) {
        reject(new Error(`answered ${answer}`));
        socket.destroy();
        return;
      }
      requests.push({ begin, end: performance.now() });
      if (hasEnded()) socket.end();
      else send();
    });
    socket.on('error', reject);
    socket.on('close', () => resolve());
  });
}
