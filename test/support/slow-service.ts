import { type Principal, TokenVerifier } from '../../src/auth/token-verifier.js';
import type { ServerLimits } from '../../src/http/public-server.js';
import { TOKEN } from './client.js';
import { expectPlant, expectRefusal, KEEP_ALIVE } from './http-answers.js';
import { message, plant } from './http-messages.js';
import { converse, everyConnectionIsClosed } from './raw-client.js';
import { type Service, sharedService } from './service.js';

const SLOW_TOKEN = 'a-slow-token';

/** The parts of a request whose answer waits. */
export const SLOW = { authorization: [`Authorization: Bearer ${SLOW_TOKEN}`] };

/** Accepts TOKEN immediately, and the slow token once `open` is called. */
class SlowVerifier extends TokenVerifier {
  open: () => void = () => undefined;
  #opened = Promise.resolve();

  shut(): void {
    this.#opened = new Promise((resolve) => (this.open = resolve));
  }

  override async verify(token: string): Promise<Principal | undefined> {
    if (token === SLOW_TOKEN) await this.#opened;
    else if (token !== TOKEN) return undefined;
    return { name: 'tests', scopes: 'all' };
  }
}

/** A service whose answers to requests with SLOW wait until a test releases them. */
export class SlowService {
  readonly #verifier = new SlowVerifier();
  readonly #service: Service;

  /** Registers the start and the end of the service, and expects after each test that it is intact. */
  constructor(limits?: Partial<ServerLimits>) {
    this.#service = sharedService({ verifier: this.#verifier, ...(limits && { limits }) });
    beforeEach(() => this.#verifier.shut());
    afterEach(() => this.#expectIntact());
  }

  get port(): number {
    return this.#service.port;
  }

  /** The logged errors. */
  get log(): readonly string[] {
    return this.#service.log();
  }

  /** Returns the ids of the stored plants, in ascending order. */
  async ids(): Promise<number[]> {
    return (await this.#service.rows()).map(({ id }) => Number(id));
  }

  /** Waits until the service has processed everything that it received before. */
  async settled(): Promise<void> {
    const [answer] = await converse(this.port, message({ line: 'GET / HTTP/1.1' }));
    expectRefusal(answer, 404);
  }

  /** Lets the answers come that wait. */
  release(): void {
    this.#verifier.open();
  }

  /** Expects that the service works and has no open connection, and empties its store. */
  async #expectIntact(): Promise<void> {
    this.release();
    const [answer] = await converse(this.port, message({ body: plant(999) }));
    expectPlant(answer, 999, KEEP_ALIVE);
    await everyConnectionIsClosed();
    await this.#service.store.query('DELETE FROM plants');
  }
}
