import { openRepository } from '../storage/engines.js';
import type { PlantRepository } from '../storage/plant-repository.js';
import type { Address } from './addresses.js';
import { Service } from './service.js';

/** A service without a public port. */
class TestedService extends Service {
  override listen(): Promise<Address> {
    return Promise.resolve({ address: '127.0.0.1', port: 3_000 });
  }

  override reload(): void {
    return;
  }

  override close(): Promise<void> {
    return this.repository.close();
  }

  override metrics(): Promise<string> {
    return Promise.resolve('');
  }
}

describe('The service', () => {
  let repository: PlantRepository;

  beforeEach(async () => {
    repository = await openRepository('sqlite::memory:');
  });

  afterEach(() => repository.close());

  it('takes requests after it has started and until it stops, and then keeps its {base_url}', () => {
    const service = new TestedService(repository);
    expect([service.obstacle, service.baseUrl]).toEqual(['it is starting', undefined]);
    service.beginServing('http://127.0.0.1:3000');
    expect([service.obstacle, service.baseUrl]).toEqual([undefined, 'http://127.0.0.1:3000']);
    service.beginStop();
    expect([service.obstacle, service.baseUrl]).toEqual(['it is shutting down', 'http://127.0.0.1:3000']);
  });

  it('that has not started cannot begin to stop', () => {
    const service = new TestedService(repository);
    service.beginStop();

    expect(service.isStarting).toBe(true);
  });
});
