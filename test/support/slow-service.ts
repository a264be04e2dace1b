import { expectPlant, expectRefusal, KEEP_ALIVE, message, plant } from './http-messages.js';
import { converse, everyConnectionIsClosed } from './raw-client.js';
import { type Service, startService } from './service.js';
import { SlowVerifier } from './slow-verifier.js';

/** A service whose answers to one token wait until a test opens its verifier. */
export class SlowService {
  private constructor(
    private readonly service: Service,
    readonly verifier: SlowVerifier,
  ) {}

  static async start(): Promise<SlowService> {
    const verifier = new SlowVerifier();
    return new SlowService(await startService({ verifier }), verifier);
  }

  get port(): number {
    return this.service.port;
  }

  /** Returns the ids of the stored plants, in ascending order. */
  async ids(): Promise<number[]> {
    return (await this.service.rows()).map(({ id }) => Number(id));
  }

  /** Waits until the service has processed everything that it received before. */
  async settled(): Promise<void> {
    expectRefusal((await converse(this.port, message({ line: 'GET / HTTP/1.1' }))).answers[0], 404);
  }

  /** Expects that the service works and has no open connection, and empties its store. */
  async expectIntact(): Promise<void> {
    this.verifier.open();
    const { answers } = await converse(this.port, message({ body: plant(999) }));
    expectPlant(answers[0], 999, KEEP_ALIVE);
    await everyConnectionIsClosed();
    await this.service.store.query('DELETE FROM plants');
  }

  close(): Promise<void> {
    return this.service.close();
  }
}
