import { Agent, type OutgoingHttpHeaders, request } from 'node:http';
import { buffer } from 'node:stream/consumers';
import fc from 'fast-check';
import { HEADER_CORRUPTIONS, TEXT_CORRUPTIONS } from '../support/corrupted-bodies.js';
import { MEMBER_CORRUPTIONS } from '../support/corrupted-members.js';
import {
  anyPlant,
  anySpelling,
  anyValid,
  type Body,
  FIELDS,
  membersOf,
  type Plant,
  textOf,
} from '../support/plant-json.js';
import { TOKEN } from '../support/client.js';
import { type Service, startService } from '../support/service.js';

/** Runs of the property of valid plants; each sends two requests. */
const VALID_RUNS = 1_000;

/** Runs of the property of two plants with one id; each sends two requests. */
const CONFLICT_RUNS = 200;

/** Runs of each corruption; there are dozens of corruptions. The engine matters only if a refused plant is stored. */
const RUNS_PER_CORRUPTION = { sqlite: 50, postgres: 5 };

interface Answer {
  readonly status: number | undefined;
  readonly type: string | undefined;
  readonly text: string;
}

describe('POST /plants with random bodies', () => {
  let service: Service;
  let agent: Agent;

  beforeAll(async () => {
    service = await startService();
    agent = new Agent({ keepAlive: true });
  });

  afterAll(async () => {
    agent.destroy();
    await service.close();
  });

  /** Comes first in each run, because the id may exist from another run or from shrinking. */
  async function emptyStore(): Promise<void> {
    await service.store.query('DELETE FROM plants');
  }

  function post(body: Body, headers: OutgoingHttpHeaders = { 'Content-Type': 'application/json' }): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const sent = request(
        `${service.url}/plants`,
        { agent, method: 'POST', headers: { Authorization: `Bearer ${TOKEN}`, ...headers } },
        (response) => {
          const { statusCode: status, headers } = response;
          buffer(response)
            .then((bytes) => resolve({ status, type: headers['content-type'], text: bytes.toString() }))
            .catch(reject);
        },
      );
      sent.on('error', reject);
      sent.end(body);
    });
  }

  /** Returns the table, with the bytes of its texts as the engine stores them. */
  function storedBytes(): Promise<object[]> {
    const { store } = service;
    const bytes = store.engine === 'sqlite' ? ['CAST(', ' AS BLOB)'] : ['convert_to(', ", 'UTF8')"];
    return store.query(`SELECT id, ${bytes.join('name')} AS name, ${bytes.join('tag')} AS tag FROM plants`);
  }

  function bytesOf({ id, name, tag }: Plant): unknown {
    return { id, name: Buffer.from(name), tag: tag === undefined ? null : Buffer.from(tag) };
  }

  async function expectRefusal({ status, type, text }: Answer, error: number): Promise<string> {
    const { message } = JSON.parse(text) as { message: string };
    expect({ status, type, text }).toEqual({
      status: 400,
      type: 'application/json',
      text: JSON.stringify({ error, message }),
    });
    expect(message).toMatch(/^\S.*\.$/);
    expect(await service.rows()).toEqual([]);
    return message;
  }

  /** Returns the fields that a message names. */
  function fieldsIn(message: string): string[] {
    return FIELDS.filter((field) => new RegExp(`\\b${field}\\b`).test(message));
  }

  it('creates any plant, and recognises it in another spelling', async () => {
    await fc.assert(
      fc.asyncProperty(anyPlant, anySpelling, anySpelling, async (plant, ...spellings) => {
        await emptyStore();
        const { name, tag } = plant;
        for (const spelling of spellings) {
          const answer = await post(textOf(membersOf(plant, spelling), spelling));

          expect(answer).toEqual({ status: 200, type: 'application/json', text: JSON.stringify({ name, tag }) });
          expect(await storedBytes()).toEqual([bytesOf(plant)]);
        }
      }),
      { numRuns: VALID_RUNS },
    );
  });

  it('refuses another plant with the same id with error 409, and does not change the stored one', async () => {
    const others = fc
      .tuple(anyValid, anyValid)
      .filter(([{ plant: one }, { plant: another }]) => one.name !== another.name || one.tag !== another.tag);
    await fc.assert(
      fc.asyncProperty(others, async ([{ plant, text }, { plant: another, spelling }]) => {
        await emptyStore();
        await post(text);

        const answer = await post(textOf(membersOf({ ...another, id: plant.id }, spelling), spelling));

        expect(answer).toMatchObject({ status: 400, text: expect.stringMatching(/^\{"error":409,/) as string });
        expect(await storedBytes()).toEqual([bytesOf(plant)]);
      }),
      { numRuns: CONFLICT_RUNS },
    );
  });

  it.each(MEMBER_CORRUPTIONS)('refuses a plant where %s with error %d', async (_what, error, named, corrupt) => {
    const texts = anyValid.chain(({ members, spelling }) =>
      corrupt(members).map((corrupted) => textOf(corrupted, spelling)),
    );
    await fc.assert(
      fc.asyncProperty(texts, async (text) => {
        await emptyStore();
        const message = await expectRefusal(await post(text), error);

        if (named.length > 0) expect(fieldsIn(message)).toEqual(named);
      }),
      { numRuns: RUNS_PER_CORRUPTION[service.store.engine] },
    );
  });

  it.each(TEXT_CORRUPTIONS)('refuses a body that %s with error %d', async (_what, error, corrupt) => {
    const bodies = anyValid.chain(({ text }) => corrupt(text));
    await fc.assert(
      fc.asyncProperty(bodies, async (body) => {
        await emptyStore();
        await expectRefusal(await post(body), error);
      }),
      { numRuns: RUNS_PER_CORRUPTION[service.store.engine] },
    );
  });

  it.each(HEADER_CORRUPTIONS)('refuses a body that comes %s with error %d', async (_what, error, headers) => {
    await fc.assert(
      fc.asyncProperty(anyValid, fc.constantFrom(...headers), async ({ text }, drawn) => {
        await emptyStore();
        await expectRefusal(await post(text, drawn), error);
      }),
      { numRuns: RUNS_PER_CORRUPTION[service.store.engine] },
    );
  });

  describe('with a mebibyte of brackets', () => {
    const DEPTH = 500_000;
    const arrays = '['.repeat(DEPTH) + ']'.repeat(DEPTH);
    const objects = `${'{"":'.repeat(DEPTH / 4)}0${'}'.repeat(DEPTH / 4)}`;

    beforeEach(emptyStore);

    it.each([
      ['arrays', arrays],
      ['objects', objects],
    ])('ignores %s in an unknown field', async (_what, deep) => {
      const answer = await post(`{"id":1,"x":${deep},"name":"Monstera"}`);

      expect(answer).toEqual({ status: 200, type: 'application/json', text: '{"name":"Monstera"}' });
      expect(await service.rows()).toEqual([{ id: 1n, name: 'Monstera', tag: null }]);
    });

    it.each([
      ['arrays', '['.repeat(2 * DEPTH)],
      ['objects', '{"":'.repeat(DEPTH / 2)],
    ])('refuses %s that are not closed with error 400', async (_what, deep) => {
      await expectRefusal(await post(`{"id":1,"name":"Monstera","x":${deep}`), 400);
    });

    it.each(FIELDS)('refuses arrays as the %s with error 422, which names it', async (field) => {
      const values = { id: '1', name: '"Monstera"', tag: '"indoor"', [field]: arrays };

      const answer = await post(`{"id":${values.id},"name":${values.name},"tag":${values.tag}}`);

      expect(fieldsIn(await expectRefusal(answer, 422))).toEqual([field]);
    });

    it('refuses arrays as the whole body with error 422', async () => {
      await expectRefusal(await post(arrays), 422);
    });
  });

  it('causes no defect of the service', () => {
    expect(service.log()).toEqual([]);
  });
});
