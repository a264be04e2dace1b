import { Logger } from '@nestjs/common';
import { openRepository } from '../storage/engines.js';
import type { PlantRepository } from '../storage/plant-repository.js';
import type { ManagedService } from './managed-service.js';
import { Readiness } from './readiness.js';

/** A service that takes requests, unless it has an obstacle. */
class TestedService implements ManagedService {
  readonly baseUrl = 'http://127.0.0.1:3000';
  isStopping = false;

  constructor(
    readonly repository: PlantRepository,
    private readonly reason?: string,
  ) {}

  get obstacle(): string | undefined {
    return this.reason;
  }

  metrics(): Promise<string> {
    return Promise.resolve('');
  }
}

let repository: PlantRepository;
let logged: readonly string[];

beforeEach(async () => {
  const lines: string[] = (logged = []);
  const note = (level: string) => (message: string, context: string) => lines.push(`${level} ${context}: ${message}`);
  Logger.overrideLogger({ log: note('info'), warn: note('warn'), error: note('error') });
  repository = await openRepository('sqlite::memory:');
});

afterEach(() => repository.close());

describe('The readiness', () => {
  it.each([
    ['it is shutting down', 0],
    [undefined, 1],
  ])('of a service with the obstacle %j is that of its check service', async (obstacle, value) => {
    const readiness = new Readiness(new TestedService(repository, obstacle));

    expect(await readiness.check()).toEqual({ service: obstacle, store: undefined });
    const text = await readiness.metrics();
    expect(text).toContain(`\nplant_store_ready{check="service"} ${value}\n`);
    expect(text).toContain('\nplant_store_ready{check="store"} 1\n');
  });

  it('has the reason of a store that fails, and sees that it works again', async () => {
    const failures = [new Error('the disk is full'), undefined];
    repository.check = () => {
      const [failure] = failures;
      failures.shift();
      return failure === undefined ? Promise.resolve() : Promise.reject(failure);
    };
    const readiness = new Readiness(new TestedService(repository));

    expect(await readiness.check()).toEqual({ service: undefined, store: 'the disk is full' });
    expect(await readiness.metrics()).toContain('\nplant_store_ready{check="store"} 0\n');
    while ((await readiness.check()).store !== undefined) await new Promise(setImmediate);
    expect(failures).toEqual([]);
    expect(logged).toEqual([
      'warn Health: The service is not ready: the disk is full',
      'info Health: The service is ready again',
    ]);
  });

  it('of a service that stops is not logged', async () => {
    const service = new TestedService(repository, 'it is shutting down');
    service.isStopping = true;
    repository.check = () => Promise.reject(new Error('the store is closed'));

    expect(await new Readiness(service).check()).toMatchObject({ store: 'the store is closed' });
    expect(logged).toEqual([]);
  });

  it('asks the store at most once a second, however many probes ask', async () => {
    const instants: number[] = [];
    const check = repository.check?.bind(repository);
    repository.check = () => {
      instants.push(performance.now());
      return check?.() ?? Promise.resolve();
    };
    const readiness = new Readiness(new TestedService(repository));
    let probes = 0;

    for (; instants.length < 3; probes += 2) {
      const checks = await Promise.all([readiness.check(), readiness.check()]);
      expect(checks).toEqual(Array(2).fill({ service: undefined, store: undefined }));
      await new Promise(setImmediate);
    }

    const [first = 0, second = 0, third = 0] = instants;
    expect(Math.min(second - first, third - second)).toBeGreaterThanOrEqual(999);
    expect(probes).toBeGreaterThan(6);
  });
});
