import { mkdtempSync, rmSync } from 'node:fs';
import type { AddressInfo, Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Test } from '@nestjs/testing';
import Database from 'better-sqlite3';
import { AppModule } from '../src/app.module.js';
import { digestOf, StaticTokens } from '../src/auth/static-tokens.js';
import type { TokenVerifier } from '../src/auth/token-verifier.js';
import { openRepository } from '../src/storage/open-repository.js';
import type { PlantRepository } from '../src/storage/plant-repository.js';
import type { Certificate } from '../src/http/certificate.js';
import { createFastifyAdapter } from '../src/http/fastify-adapter.js';
import type { ServerLimits } from '../src/http/public-server.js';

/** A token that every service of the tests takes. */
export const TOKEN = 'a-token-of-the-tests';

/** What is in the table, with the types that SQLite gives. */
export interface Row {
  id: bigint;
  name: string;
  tag: string | null;
}

/** The service as main.ts starts it, in this process, on a free port, with a database file of its own. */
export interface Service {
  readonly port: number;
  /** {base_url}, without a trailing slash. */
  readonly url: string;
  /** Its SQLite file, until it is closed. */
  readonly file: string;
  /** What is in the store, in the order of ids, read past the service. */
  rows(): Row[];
  /** The errors that the service has logged: the message, the stack where there is one, and the context. */
  log(): readonly string[];
  /** The warnings that it has. */
  warnings(): readonly string[];
  close(): Promise<void>;
}

/** Starts a service; the caller closes it. */
export async function startService(
  options: {
    readonly basePath?: string;
    readonly bodyLimit?: number;
    readonly limits?: Partial<ServerLimits>;
    readonly verifier?: TokenVerifier;
    readonly refusedTokensPerMinute?: number;
    readonly origins?: ReadonlySet<string>;
    readonly certificate?: Certificate;
    /** Puts something between the service and its store. */
    readonly repository?: (inner: PlantRepository, file: string) => PlantRepository;
  } = {},
): Promise<Service> {
  const directory = mkdtempSync(join(tmpdir(), 'plant-store-'));
  const file = join(directory, 'plants.db');
  const repository = await openRepository(`sqlite:${file}`);
  const basePath = options.basePath ?? '';
  const testing = await Test.createTestingModule({
    imports: [
      AppModule.forRoot({
        basePath,
        repository: options.repository?.(repository, file) ?? repository,
        verifier: options.verifier ?? new StaticTokens([{ name: 'tests', digest: digestOf(TOKEN) }]),
        ...(options.refusedTokensPerMinute && { refusedTokensPerMinute: options.refusedTokensPerMinute }),
      }),
    ],
  }).compile();
  const adapter = createFastifyAdapter({
    bodyLimit: options.bodyLimit ?? 1_048_576,
    ...(options.limits && { limits: options.limits }),
    ...(options.origins && { origins: options.origins }),
    certificate: options.certificate,
  });
  const app = testing.createNestApplication(adapter, { bodyParser: false });
  const log: string[] = [];
  const ignore = (): void => undefined;
  const warnings: string[] = [];
  const warn = (message: unknown): void => void warnings.push(String(message));
  app.useLogger({ log: ignore, warn, error: (...parts: unknown[]) => log.push(parts.join('\n')) });
  await app.listen(0, '127.0.0.1');
  const { port } = (app.getHttpServer() as Server).address() as AddressInfo;
  // One reader for the whole life of the service: it is one more client of the file, and never writes.
  const reader = new Database(file, { readonly: true });
  reader.defaultSafeIntegers(true);
  const all = reader.prepare<[], Row>('SELECT id, name, tag FROM plants ORDER BY id');
  return {
    port,
    url: `${options.certificate ? 'https' : 'http'}://127.0.0.1:${port}${basePath}`,
    file,
    rows: () => all.all(),
    log: () => log,
    warnings: () => warnings,
    async close() {
      reader.close();
      await app.close();
      rmSync(directory, { recursive: true });
    },
  };
}
