import type { AddressInfo, Server } from 'node:net';
import type { SecureContextOptions } from 'node:tls';
import { Logger } from '@nestjs/common';
import { createApplication } from '../../src/app.module.js';
import { digestToken, StaticTokens } from '../../src/auth/static-tokens.js';
import type { TokenVerifier } from '../../src/auth/token-verifier.js';
import { openRepository } from '../../src/storage/engines.js';
import type { PlantRepository } from '../../src/storage/plant-repository.js';
import type { ServerLimits } from '../../src/http/public-server.js';
import { TOKEN } from './client.js';
import { everyConnectionIsClosed, observeConnections } from './raw-client.js';
import { newStore, type Row, type Store } from './store.js';

/** The application of the program in this process, on a free port, with its own database. */
export interface Service {
  /** For supertest. */
  readonly server: Server;
  readonly port: number;
  /** {base_url}, without a trailing slash. */
  readonly url: string;
  /** Its database. */
  readonly store: Store;
  /** Returns the stored plants in the order of their ids, read without the service. */
  rows(): Promise<Row[]>;
  /** Returns the logged errors: message, stack and context. */
  log(): readonly string[];
  close(): Promise<void>;
}

interface ServiceOptions {
  readonly basePath?: string;
  readonly bodyLimit?: number;
  readonly limits?: Partial<ServerLimits>;
  readonly verifier?: TokenVerifier;
  readonly origins?: ReadonlySet<string>;
  readonly certificate?: SecureContextOptions;
  /** Wraps the repository. */
  readonly repository?: (inner: PlantRepository, store: Store) => PlantRepository;
}

/** Returns a service that starts before the tests of a suite, and closes after them with all its connections. */
export function sharedService(options?: ServiceOptions): Service {
  const shared = {} as Service;
  beforeAll(async () => Object.assign(shared, await startService(options)));
  afterAll(async () => {
    await shared.close();
    await everyConnectionIsClosed();
  });
  return shared;
}

/** Starts a service; the caller closes it. */
export async function startService(options: ServiceOptions = {}): Promise<Service> {
  const store = await newStore();
  const repository = await openRepository(store.url);
  const basePath = options.basePath ?? '';
  const log: string[] = [];
  const ignore = (): void => undefined;
  Logger.overrideLogger({ log: ignore, warn: ignore, error: (...parts: unknown[]) => log.push(parts.join('\n')) });
  const app = await createApplication({
    basePath,
    plants: {
      repository: options.repository?.(repository, store) ?? repository,
      authentication: {
        verifier: options.verifier ?? new StaticTokens([{ name: 'tests', digest: digestToken(TOKEN) }]),
      },
      ...(options.bodyLimit && { body: { limit: options.bodyLimit } }),
    },
    http: {
      limits: { request: 30_000, keepAlive: 72_000, connections: 2_000, ...options.limits },
      ...(options.origins && { origins: options.origins }),
      certificate: options.certificate,
    },
  });
  const server = app.getHttpServer() as Server;
  observeConnections(server);
  await app.listen(0, '127.0.0.1');
  const { port } = server.address() as AddressInfo;
  return {
    server,
    port,
    url: `${options.certificate ? 'https' : 'http'}://127.0.0.1:${port}${basePath}`,
    store,
    rows: () => store.rows(),
    log: () => log,
    async close() {
      await app.close();
      await store.close();
    },
  };
}
