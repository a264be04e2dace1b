import { channel, subscribe, unsubscribe } from 'node:diagnostics_channel';
import { Logger, type OnApplicationShutdown } from '@nestjs/common';
import type { RefusalReason } from './token-verifier.js';

/** The diagnostics channel that has one message for each request answered with error 401. */
export const REFUSAL_CHANNEL = 'plant-store:authentication-refused';

/** A message of the channel. */
export interface AuthenticationRefused {
  readonly reason: RefusalReason | 'missing';
  /** The name of the token's holder, if the token has expired. */
  readonly principal?: string | undefined;
  /** The address of the client, if known. */
  readonly address?: string | undefined;
}

const refused = channel(REFUSAL_CHANNEL);

export function publishRefusal(message: AuthenticationRefused): void {
  if (refused.hasSubscribers) refused.publish(message);
}

/** Milliseconds between two log lines. */
const LINE_INTERVAL = 60_000;

/** Holders of expired tokens that a log line names. */
const MAX_NAMES = 10;

/** Logs refused tokens: the first one immediately, later ones in at most one summary line a minute. */
export class RefusalLog implements OnApplicationShutdown {
  readonly #logger = new Logger('Authentication');
  readonly #counts = new Map<AuthenticationRefused['reason'], number>();
  /** The holders of expired tokens. */
  readonly #holders = new Set<string>();
  #last = '';
  #timer: NodeJS.Timeout | undefined;

  constructor() {
    subscribe(REFUSAL_CHANNEL, this.#count);
  }

  onApplicationShutdown(): void {
    unsubscribe(REFUSAL_CHANNEL, this.#count);
    this.#write();
    clearTimeout(this.#timer);
  }

  readonly #count = (message: unknown): void => {
    const { reason, principal, address = 'an unknown address' } = message as AuthenticationRefused;
    // A request without a token is not an attempt.
    if (reason === 'missing') return;
    this.#counts.set(reason, (this.#counts.get(reason) ?? 0) + 1);
    if (principal !== undefined && this.#holders.size < MAX_NAMES) this.#holders.add(principal);
    this.#last = address;
    if (this.#timer === undefined) this.#write();
  };

  #write(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#counts.size === 0) return;
    const holders = ` (${[...this.#holders].join(', ')})`;
    const reasons = Array.from(this.#counts, ([reason, count]) => {
      return `${count} ${reason}${reason === 'expired' && this.#holders.size > 0 ? holders : ''}`;
    });
    this.#counts.clear();
    this.#holders.clear();
    this.#logger.warn(`Refused tokens: ${reasons.join(', ')}; the last one from ${this.#last}`);
    this.#timer = setTimeout(() => this.#write(), LINE_INTERVAL).unref();
  }
}

/** Milliseconds by which a refusal beyond the limit is delayed. */
const DELAY = 1_000;

/** Refusals delayed at the same time. Beyond this, the oldest one is answered immediately. */
const MAX_DELAYED = 1_000;

/** Networks counted at the same time. Beyond this, the oldest count is dropped. */
const MAX_NETWORKS = 10_000;

/** Milliseconds for which refusals count. */
const WINDOW = 60_000;

/**
 * Delays refusals by one second when too many tokens of one client address were refused within a minute. Valid tokens are
 * never delayed, because an attacker may share their address.
 */
export class RefusalDelay {
  readonly #counts = new Map<string, { refusals: number; readonly until: number }>();
  readonly #delayed = new Map<NodeJS.Timeout, () => void>();

  /** @param perMinute refusals per address and minute that are not delayed */
  constructor(private readonly perMinute: number) {}

  /** Counts a refusal, and resolves when it may be answered. */
  async wait(address = ''): Promise<void> {
    if (this.perMinute === Infinity) return;
    if (this.#count(clientNetwork(address)) > this.perMinute) await this.#delay();
  }

  #count(network: string): number {
    const now = performance.now();
    let count = this.#counts.get(network);
    if (count === undefined || count.until <= now) {
      count = { refusals: 0, until: now + WINDOW };
      // Insert again, because a Map iterates in insertion order: the first entry is the oldest.
      this.#counts.delete(network);
      this.#counts.set(network, count);
      const [oldest] = this.#counts.keys();
      if (this.#counts.size > MAX_NETWORKS && oldest !== undefined) this.#counts.delete(oldest);
    }
    count.refusals += 1;
    return count.refusals;
  }

  #delay(): Promise<void> {
    const [oldest] = this.#delayed.keys();
    if (this.#delayed.size >= MAX_DELAYED && oldest !== undefined) this.#release(oldest);
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#release(timer), DELAY);
      this.#delayed.set(timer, resolve);
    });
  }

  #release(timer: NodeJS.Timeout): void {
    clearTimeout(timer);
    this.#delayed.get(timer)?.();
    this.#delayed.delete(timer);
  }
}

/** Returns an IPv4 address as it is, and the /64 network of an IPv6 address: clients are assigned at least that. */
export function clientNetwork(address: string): string {
  if (!address.includes(':')) return address;
  const [, mapped] = /^::ffff:([\d.]+)$/i.exec(address) ?? [];
  if (mapped !== undefined) return mapped;
  const [head = [], tail = []] = address.split('::').map((part) => part.split(':').filter((group) => group !== ''));
  const zeros = Array<string>(Math.max(0, 8 - head.length - tail.length)).fill('0');
  return [...head, ...zeros, ...tail].slice(0, 4).join(':');
}
