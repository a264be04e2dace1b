import { openRepository } from '../storage/engines.js';
import type { PlantRepository } from '../storage/plant-repository.js';
import { ManagedService } from './managed-service.js';
import { Readiness } from './readiness.js';

class RunningService extends ManagedService {
  override state = { name: 'serving', baseUrl: 'http://127.0.0.1:3000' } as const;

  override metrics(): Promise<string> {
    return Promise.resolve('');
  }
}

let repository: PlantRepository;

beforeEach(async () => {
  repository = await openRepository('sqlite::memory:');
});

afterEach(() => repository.close());

describe('The readiness', () => {
  it('asks the store at most once a second, however many probes ask', async () => {
    const instants: number[] = [];
    const check = repository.check?.bind(repository);
    repository.check = () => {
      instants.push(performance.now());
      return check?.() ?? Promise.resolve();
    };
    const readiness = new Readiness(new RunningService(repository));
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
