import { Injectable, Logger } from '@nestjs/common';
import { Gauge, Registry } from 'prom-client';
import { ManagedService } from './managed-service.js';

/** Milliseconds between two checks of the store, so that frequent probes do not delay plants. */
const STORE_CHECK_INTERVAL = 1_000;

/** The checks of /health/ready, each with the reason for its failure; undefined for a check that succeeds. */
export interface ReadinessChecks {
  readonly service: string | undefined;
  readonly store: string | undefined;
}

interface StoreCheck {
  /** Milliseconds of the monotonic clock: after a step of the wall clock, a check could count for hours. */
  readonly began: number;
  readonly failure: Promise<string | undefined>;
}

/** Tells probes, Prometheus and the log whether the service takes plants and, if it does not, why. */
@Injectable()
export class Readiness {
  readonly #logger = new Logger('Health');
  readonly #registry = new Registry();
  readonly #ready = new Gauge({
    name: 'plant_store_ready',
    help: '1 if this check of /health/ready is up, or 0 if it is down.',
    labelNames: ['check'],
    registers: [this.#registry],
  });
  #storeCheck: StoreCheck | undefined;
  #loggedFailure: string | undefined;

  constructor(private readonly service: ManagedService) {}

  async check(): Promise<ReadinessChecks> {
    const now = performance.now();
    if (this.#storeCheck === undefined || now - this.#storeCheck.began >= STORE_CHECK_INTERVAL) {
      this.#storeCheck = { began: now, failure: this.#checkStore() };
    }
    return { service: this.service.obstacle, store: await this.#storeCheck.failure };
  }

  /** Returns the checks as a metric, in the text format of Prometheus. */
  async metrics(): Promise<string> {
    for (const [check, failure] of Object.entries(await this.check())) {
      this.#ready.set({ check }, failure === undefined ? 1 : 0);
    }
    return this.#registry.metrics();
  }

  async #checkStore(): Promise<string | undefined> {
    let failure: string | undefined;
    try {
      await this.service.repository.check?.();
    } catch (error) {
      failure = (error as Error).message;
    }
    this.#logChange(failure);
    return failure;
  }

  #logChange(failure: string | undefined): void {
    // A service that stops closes its store, so a failure is no news.
    if (failure === this.#loggedFailure || this.service.isStopping) return;
    this.#loggedFailure = failure;
    if (failure === undefined) this.#logger.log('The service is ready again');
    else this.#logger.warn(`The service is not ready: ${failure}`);
  }
}
