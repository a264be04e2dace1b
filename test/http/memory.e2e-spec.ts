import { readFileSync } from 'node:fs';
import { request as requestPlainly } from 'node:http';
import { request as requestWithTls } from 'node:https';
import { join } from 'node:path';
import { SECOND_TOKEN, TOKEN } from '../support/client.js';
import * as hostile from '../support/hostile-clients.js';
import { report } from '../support/report.js';
import { ServiceDirectory, type Variables } from '../support/service-directory.js';
import { WORKERS } from '../support/workers.js';

const CERTIFICATES = join(import.meta.dirname, '../support/certificates');

/** Bytes that the service may occupy at most, at default settings. */
const MAX_RESIDENT = 320_000_000;

/** An attack stands still when it has made no progress while the service has answered so many honest requests. */
const STANDSTILL = 20;

/** What a client sees whose connection closed before its request arrived. */
const CLOSED = ['Error: socket hang up', 'Error: read ECONNRESET', 'Error: write EPIPE'];

/** Milliseconds after which a client gives up. */
const PATIENCE = 60_000;

let directory: ServiceDirectory;

beforeEach(() => {
  directory = new ServiceDirectory();
});

afterEach(() => directory.remove());

/** Creates a plant on a connection of its own, and returns 200, the error number, or the error of the connection. */
function createOnce(url: string, id: number): Promise<number | string> {
  const request = url.startsWith('https:') ? requestWithTls : requestPlainly;
  return new Promise((resolve) => {
    request(
      `${url}/plants`,
      {
        method: 'POST',
        headers: { Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/json' },
        agent: false,
        rejectUnauthorized: false,
        signal: AbortSignal.timeout(PATIENCE),
      },
      (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (part: string) => (text += part));
        response.on('end', () => {
          resolve(response.statusCode === 200 ? 200 : (JSON.parse(text) as { error: number }).error);
        });
        response.on('error', (error) => resolve(String(error)));
      },
    )
      .on('error', (error) => resolve(String(error)))
      .end(JSON.stringify({ id, name: 'honest' }));
  });
}

async function residentOf(management: string): Promise<number> {
  const response = await fetch(`${management}/metrics`, { signal: AbortSignal.timeout(PATIENCE) });
  return Number(/^process_resident_memory_bytes (\S+)$/m.exec(await response.text())?.[1]);
}

interface Outcome {
  /** Bytes. */
  readonly peak: number;
  /** The results of the honest client. */
  readonly honest: readonly (number | string)[];
  /** Milliseconds that the slowest of its requests took. */
  readonly slowest: number;
}

/** Attacks a service of its own until the attack stands still, beside an honest client. */
async function attack(pattern: hostile.Pattern, variables: Variables = {}): Promise<Outcome> {
  const tokens = { ACCESS_TOKENS: `${TOKEN},${SECOND_TOKEN}` };
  const { service, url, management } = await directory.startManaged({ ...tokens, ...variables });
  const clients = pattern({ url, token: SECOND_TOKEN });
  const honest: (number | string)[] = [];
  const samples: number[] = [];
  let slowest = 0;
  try {
    let unchanged = 0;
    for (let sent = -1; unchanged < STANDSTILL;) {
      const started = performance.now();
      honest.push(await createOnce(url, honest.length));
      slowest = Math.max(slowest, performance.now() - started);
      samples.push(await residentOf(management));
      unchanged = clients.isOpen && clients.sent === sent ? unchanged + 1 : 0;
      sent = clients.sent;
    }
  } finally {
    await clients.stop();
  }
  return { peak: service.peakResident() ?? Math.max(...samples), honest, slowest };
}

/** Counts the values of a list. */
function tally(values: readonly (number | string)[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const value of values) counts[value] = (counts[value] ?? 0) + 1;
  return counts;
}

const TLS = 'TLS';

const ATTACKS: [title: string, pattern: hostile.Pattern, variables: Variables | typeof TLS][] = [
  ['send a million chunks of one byte', hostile.tinyChunks, {}],
  ['send chunks of one byte without a valid token', hostile.tinyChunksOfStrangers, {}],
  ['do not read large answers', hostile.unreadEchoes, {}],
  ['do not read large answers through TLS', hostile.unreadEchoes, TLS],
  ['do not read large answers of two bytes a character', hostile.unreadWideEchoes, {}],
  ['do not read refusals', hostile.unreadRefusals, {}],
  ['do not read refusals through TLS', hostile.unreadRefusals, TLS],
  ['read refusals byte by byte', hostile.refusalsReadSlowly, {}],
  ['send bodies without a valid token', hostile.bodiesOfStrangers, {}],
  ['stop after the first byte of a body', hostile.bodiesThatStop, {}],
  ['send a body byte by byte', hostile.bodiesThatDrip, {}],
  ['hold more connections than allowed', hostile.silence(150), { MAX_CONNECTIONS: '50' }],
  ['hold more connections with half a head than allowed', hostile.halfHeads(150), { MAX_CONNECTIONS: '50' }],
  ['hold 5,000 half TLS handshakes', hostile.halfHandshakes(5_000), TLS],
  ['hold 5,500 connections with large heads', hostile.largeHeads(5_500), {}],
  ['send garbage', hostile.garbage, {}],
  [
    'send chunks of one byte while others do not read large answers',
    hostile.together(hostile.tinyChunks, hostile.unreadEchoes),
    {},
  ],
  [
    'hold large heads while others do not read large answers',
    hostile.together(hostile.largeHeads(2_000), hostile.unreadWideEchoes),
    {},
  ],
];

/** Each worker has the code and the limits of a single process: these show that it holds to them on a shared port. */
const SAMPLE_OF_WORKERS = [
  'do not read large answers',
  'do not read refusals',
  'send bodies without a valid token',
  'hold more connections than allowed',
];

const attacks = WORKERS === 1 ? ATTACKS : ATTACKS.filter(([title]) => SAMPLE_OF_WORKERS.includes(title));

describe(`Each process stays below ${MAX_RESIDENT / 1e6} MB and serves others while clients`, () => {
  it.each(attacks)('%s', async (title, pattern, variables) => {
    const settings = variables === TLS ? install() : variables;
    const outcome = await attack(pattern, settings);

    const { honest } = outcome;
    report(
      `${title}: peak ${Math.round(outcome.peak / 1e6)} MB; honest ${JSON.stringify(tally(honest))}, ` +
        `slowest ${Math.round(outcome.slowest)} ms`,
    );
    // While more clients arrive than there is room for, a newcomer can lose its place before its request arrives.
    const permitted = 'MAX_CONNECTIONS' in settings ? [200, 503, ...CLOSED] : [200, 503];
    expect(honest.filter((result) => !permitted.includes(result))).toEqual([]);
    expect(honest.slice(-STANDSTILL)).toEqual(Array(STANDSTILL).fill(200));
    expect(outcome.peak).toBeLessThan(MAX_RESIDENT);
  });
});

/** Installs a certificate in the directory of the service, and returns the variables that name it. */
function install(): Variables {
  const [certificate, key] = ['first.crt', 'first.key'].map((name) =>
    directory.write(name, readFileSync(join(CERTIFICATES, name), 'utf8')),
  );
  return { TLS_CERT_FILE: certificate ?? '', TLS_KEY_FILE: key ?? '' };
}
