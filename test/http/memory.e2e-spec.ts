import { installCertificate } from '../support/certificates.js';
import { SECOND_TOKEN, TOKEN } from '../support/client.js';
import { ask } from '../support/raw-client.js';
import * as hostile from '../support/hostile-clients.js';
import { report } from '../support/report.js';
import { ServiceDirectory, type Variables } from '../support/service-directory.js';
import { SilentProvider } from '../support/silent-provider.js';

/** Bytes that the service may occupy at most, at default settings. */
const MAX_RESIDENT = 320_000_000;

/** An attack stands still when it has made no progress while the service has answered so many honest requests. */
const STANDSTILL = 20;

/** An attack without end has shown its peak when the service has answered so many honest requests. */
const ENOUGH = 40;

/** Milliseconds after which an attack has failed to end: less than the time limit of Jest. */
const PATIENCE = 150_000;

const directory = ServiceDirectory.ofEachTest();

interface Outcome {
  /** Bytes. */
  readonly peak: number;
  /** 200, the error number, or undefined without an answer, of each request of the honest client. */
  readonly honest: readonly (number | undefined)[];
  /** Milliseconds that the slowest of its requests took. */
  readonly slowest: number;
}

/** Attacks a service of its own until the attack stands still, beside an honest client. */
async function attack(patterns: readonly hostile.Pattern[], variables: Variables): Promise<Outcome> {
  const tokens = { ACCESS_TOKENS: `${TOKEN},${SECOND_TOKEN}` };
  const { service, url } = await directory.start({ ...tokens, ...variables });
  const attacks = patterns.map((pattern) => new hostile.HostileClients({ url, token: SECOND_TOKEN }, pattern));
  const honest: (number | undefined)[] = [];
  const isEndless = patterns.some((pattern) => pattern.isEndless);
  const began = performance.now();
  let slowest = 0;
  try {
    let unchanged = 0;
    for (let before = -1; isEndless ? honest.length < ENOUGH : unchanged < STANDSTILL;) {
      const started = performance.now();
      honest.push(await ask(url, TOKEN, honest.length));
      slowest = Math.max(slowest, performance.now() - started);
      const sent = attacks.reduce((sum, clients) => sum + clients.sent, 0);
      if (performance.now() - began > PATIENCE) throw new Error(`Not over after ${honest.length} honest requests`);
      unchanged = sent === before && attacks.every(({ isOpen }) => isOpen) ? unchanged + 1 : 0;
      before = sent;
    }
  } finally {
    await Promise.all(attacks.map((clients) => clients.stop()));
  }
  return { peak: service.peakResident(), honest, slowest };
}

const TLS = 'TLS';
const JWT = 'JWT';
const FEW = { MAX_CONNECTIONS: '50' };

const provider = SilentProvider.ofSuite();

function variablesOf(setting: Variables | typeof TLS | typeof JWT): Variables {
  if (setting === TLS) return installCertificate(directory);
  return setting === JWT ? provider.variables() : setting;
}

const ATTACKS: [title: string, patterns: readonly hostile.Pattern[], setting?: Parameters<typeof variablesOf>[0]][] = [
  ['send a million chunks of one byte', [hostile.tinyChunks]],
  ['send chunks of one byte without a valid token', [hostile.tinyChunksOfStrangers]],
  ['pipeline creates in chunks of one byte without end', [hostile.endlessTinyChunks]],
  ['pipeline requests without end', [hostile.endlessRequests]],
  ['pipeline requests without a valid token', [hostile.requestsOfStrangers]],
  ['pipeline creates without end', [hostile.endlessCreations]],
  ['send chunks of one byte with a token whose key the provider does not send', [hostile.tinyChunksOfUnknownKeys], JWT],
  ['do not read large answers', [hostile.unreadEchoes]],
  ['do not read large answers through TLS', [hostile.unreadEchoes], TLS],
  ['do not read large answers of two bytes a character', [hostile.unreadWideEchoes]],
  ['do not read refusals', [hostile.unreadRefusals]],
  ['do not read refusals through TLS', [hostile.unreadRefusals], TLS],
  ['read refusals byte by byte', [hostile.refusalsReadSlowly]],
  ['send bodies without a valid token', [hostile.bodiesOfStrangers]],
  ['stop after the first byte of a body', [hostile.bodiesThatStop]],
  ['send a body byte by byte', [hostile.bodiesThatDrip]],
  ['hold more connections than allowed', [hostile.silence], FEW],
  ['hold more connections than allowed, each with half a head', [hostile.halfHeads], FEW],
  ['hold 2,500 half TLS handshakes', [hostile.halfHandshakes], TLS],
  ['hold 2,500 connections with large heads', [hostile.largeHeads]],
  ['send garbage', [hostile.garbage]],
  [
    'send chunks of one byte while others do not read large answers',
    [{ ...hostile.tinyChunks, connections: 2 }, hostile.unreadEchoes],
  ],
  [
    'hold large heads while others do not read large answers',
    [{ ...hostile.largeHeads, connections: 2_000 }, hostile.unreadWideEchoes],
  ],
];

/** The others include what these show, beside another attack or with less effort: only `ATTACKS=all` runs them, as in deploy.yml. */
const INCLUDED = [
  'pipeline creates without end',
  'read refusals byte by byte',
  'send a million chunks of one byte',
  'send chunks of one byte without a valid token',
  'do not read large answers',
  'do not read large answers through TLS',
  'do not read large answers of two bytes a character',
  'hold 2,500 connections with large heads',
];

function isRun(title: string): boolean {
  return process.env.ATTACKS === 'all' || !INCLUDED.includes(title);
}

const attacks = ATTACKS.filter(([title]) => isRun(title));

describe(`The service stays below ${MAX_RESIDENT / 1e6} MB and serves others while clients`, () => {
  it.each(attacks)(
    '%s',
    async (title, patterns, setting = {}) => {
      const { peak, honest, slowest } = await attack(patterns, variablesOf(setting));

      report(`${title}: peak ${Math.round(peak / 1e6)} MB; slowest of ${honest.length} ${Math.round(slowest)} ms`);
      // While more clients arrive than there is room for, a newcomer can lose its place before its request arrives.
      const permitted = setting === FEW ? [200, 503, undefined] : [200, 503];
      expect(honest.filter((result) => !permitted.includes(result))).toEqual([]);
      expect(honest.slice(-STANDSTILL)).toEqual(Array(STANDSTILL).fill(200));
      expect(peak).toBeLessThan(MAX_RESIDENT);
    },
    180_000,
  );
});
