import type { StaticToken } from '../auth/static-tokens.js';
import type { Configuration } from '../config/configuration.js';
import type { Certificate } from '../http/certificate.js';
import type { ProcessMetrics } from '../management/worker-metrics.js';
import type { BatchResult } from '../storage/remote-repository.js';
import type { StoredPlant } from '../storage/plant-repository.js';
import type { ExitStatus } from './exit-status.js';

/** What the primary reads, and its workers use; it may change while they run. */
export interface SharedState {
  readonly tokens: readonly StaticToken[];
  readonly certificate: Certificate | undefined;
  /** The origins whose pages may create plants. */
  readonly origins: readonly string[];
}

/** The first message to a worker. */
export interface WorkerStart {
  readonly type: 'start';
  readonly configuration: Configuration;
  readonly state: SharedState;
}

export type ToWorker =
  | WorkerStart
  | { readonly type: 'state'; readonly state: SharedState }
  /** The result of the batch that the worker has sent. */
  | { readonly type: 'result'; readonly result: BatchResult }
  /** Asks for the metrics. */
  | { readonly type: 'metrics' }
  /** Ends the worker after its requests in flight. */
  | { readonly type: 'stop' };

export type FromWorker =
  /** The worker can receive its first message. */
  | { readonly type: 'ready' }
  /** The worker listens, and can receive all messages. */
  | { readonly type: 'listening'; readonly baseUrl: string }
  /** The worker cannot start, and ends; the text is for the operator. */
  | { readonly type: 'failed'; readonly text: string; readonly status: ExitStatus }
  | { readonly type: 'batch'; readonly plants: readonly StoredPlant[] }
  | { readonly type: 'metrics'; readonly metrics: ProcessMetrics };
