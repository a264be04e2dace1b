import { channel, subscribe, unsubscribe } from 'node:diagnostics_channel';
import { Logger, type OnApplicationShutdown } from '@nestjs/common';
import type { Refusal } from './token-verifier.js';

/** One message for every request that is answered with error 401. */
export const AUTHENTICATION_REFUSED = 'plant-store:authentication-refused';

/** What the channel `plant-store:authentication-refused` carries. */
export interface AuthenticationRefused {
  readonly reason: Refusal | 'missing';
  /** The client's, as far as it is known. */
  readonly address?: string;
}

const refused = channel(AUTHENTICATION_REFUSED);

/** Tells whoever listens. */
export function publishRefusal(reason: AuthenticationRefused['reason'], address: string | undefined): void {
  if (refused.hasSubscribers) refused.publish(address === undefined ? { reason } : { reason, address });
}

/** Milliseconds between two lines of the log. */
const LINE_INTERVAL = 60_000;

/** Logs refused tokens: the first one at once, and those that follow together, in at most one line a minute. */
export class RefusalLog implements OnApplicationShutdown {
  readonly #logger = new Logger('Authentication');
  readonly #counts = new Map<AuthenticationRefused['reason'], number>();
  #last = '';
  #timer: NodeJS.Timeout | undefined;

  constructor() {
    subscribe(AUTHENTICATION_REFUSED, this.#count);
  }

  onApplicationShutdown(): void {
    unsubscribe(AUTHENTICATION_REFUSED, this.#count);
    this.#write();
    clearTimeout(this.#timer);
  }

  readonly #count = (message: unknown): void => {
    const { reason, address = 'an unknown address' } = message as AuthenticationRefused;
    // Whoever sends none has not tried.
    if (reason === 'missing') return;
    this.#counts.set(reason, (this.#counts.get(reason) ?? 0) + 1);
    this.#last = address;
    if (this.#timer === undefined) this.#write();
  };

  #write(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#counts.size === 0) return;
    const reasons = Array.from(this.#counts, ([reason, count]) => `${count} ${reason}`).join(', ');
    this.#counts.clear();
    this.#logger.warn(`Refused tokens: ${reasons}; the last one from ${this.#last}`);
    this.#timer = setTimeout(() => this.#write(), LINE_INTERVAL).unref();
  }
}

/** Milliseconds that a refusal waits, when there are too many. */
const DELAY = 1_000;

/** Refusals that wait at the same time; beyond, the one that waits longest is answered at once. */
const MAX_WAITING = 1_000;

/** Addresses that are counted; beyond, the one that was counted first is forgotten. */
const MAX_ADDRESSES = 10_000;

/** How long failures count, in milliseconds. */
const WINDOW = 60_000;

/**
 * Where too many tokens of one address were refused within a minute, further refusals come a second late. Valid tokens
 * never wait, whatever else comes from their address: who shares it may be a stranger.
 */
export class RefusalDelay {
  readonly #failures = new Map<string, { count: number; readonly until: number }>();
  readonly #waiting = new Map<NodeJS.Timeout, () => void>();

  /** @param perMinute as many refusals of one address come at once */
  constructor(private readonly perMinute: number) {}

  /** Resolves when a refused token of this address may be answered. */
  async after(address = ''): Promise<void> {
    if (this.#isTooMuch(networkOf(address))) await this.#wait();
  }

  #isTooMuch(network: string): boolean {
    const now = performance.now();
    let failures = this.#failures.get(network);
    if (failures === undefined || failures.until <= now) {
      failures = { count: 0, until: now + WINDOW };
      // Insertion order is the order of age.
      this.#failures.delete(network);
      this.#failures.set(network, failures);
      const [oldest] = this.#failures.keys();
      if (this.#failures.size > MAX_ADDRESSES && oldest !== undefined) this.#failures.delete(oldest);
    }
    failures.count += 1;
    return failures.count > this.perMinute;
  }

  #wait(): Promise<void> {
    const [longest] = this.#waiting.keys();
    if (this.#waiting.size >= MAX_WAITING && longest !== undefined) this.#release(longest);
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#release(timer), DELAY);
      this.#waiting.set(timer, resolve);
    });
  }

  #release(timer: NodeJS.Timeout): void {
    clearTimeout(timer);
    this.#waiting.get(timer)?.();
    this.#waiting.delete(timer);
  }
}

/** The address, or of an IPv6 address the /64, since nobody is given less. */
export function networkOf(address: string): string {
  if (!address.includes(':')) return address;
  const [, mapped] = /^::ffff:([\d.]+)$/i.exec(address) ?? [];
  if (mapped !== undefined) return mapped;
  const [head = [], tail = []] = address.split('::').map((part) => part.split(':').filter((group) => group !== ''));
  const zeros = Array<string>(Math.max(0, 8 - head.length - tail.length)).fill('0');
  return [...head, ...zeros, ...tail].slice(0, 4).join(':');
}
