import { stripVTControlCharacters } from 'node:util';
import { create, CREATED, MONSTERA, refusal, SECOND_TOKEN } from '../support/client.js';
import { ServiceDirectory, WITH_TOKEN } from '../support/service-directory.js';
import { ON_TERMINAL } from '../support/terminal.js';

const directory = ServiceDirectory.ofEachTest();

/** Causes an error that the service takes for a defect: it logs it and answers with error 500. */
function breakStore(): void {
  directory
    .openDatabase()
    .exec("CREATE TRIGGER refusing BEFORE INSERT ON plants BEGIN SELECT RAISE(ABORT, 'no more plants'); END");
}

describe('The log on stdout', () => {
  const ISO_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

  it('has one JSON object a line, and no token', async () => {
    const { service, token, url } = await directory.firstStart({ LOG_LEVEL: 'trace' });
    expect(await create(url, MONSTERA, token)).toEqual(CREATED);
    expect(await create(url, { id: 1, name: 'Ficus' }, token)).toEqual(refusal(409));
    expect(await create(url, MONSTERA, SECOND_TOKEN)).toEqual(refusal(401));
    breakStore();
    expect(await create(url, MONSTERA, token)).toEqual(refusal(500));
    await service.stop();

    const request = { time: expect.stringMatching(ISO_TIME) as unknown, message: 'request', path: '/plants' };
    const lines = service.lines.map((line): unknown => JSON.parse(line));
    expect(lines).toMatchObject([
      { level: 'info', context: 'Authentication', message: 'data/tokens is in use; number of tokens now: 1' },
      {
        level: 'info',
        context: 'PlantStore',
        message: expect.stringMatching(/^Plant Store .+ on Node\.js /) as unknown,
      },
      { level: 'info', time: expect.stringMatching(ISO_TIME) as unknown, message: `Listening: POST ${url}/plants` },
      { ...request, level: 'info', statusCode: 200, principal: 'first-start' },
      { ...request, level: 'info', statusCode: 400, error: 409, principal: 'first-start' },
      { ...request, level: 'info', statusCode: 400, error: 401, refusal: 'unknown' },
      {
        level: 'error',
        context: 'PlantStore',
        message: expect.stringContaining('no more plants') as unknown,
        stack: expect.stringMatching(/no more plants.*\n +at /) as unknown,
      },
      { ...request, level: 'error', statusCode: 400, error: 500, principal: 'first-start' },
      { level: 'info', message: 'Stopping after SIGTERM' },
      { level: 'info', message: 'Stopped' },
    ]);
    expect(service.stdout).not.toContain(token);
    expect(service.stdout).not.toContain(SECOND_TOKEN);
  });

  it('has a request with error 503 with the severity warn', async () => {
    const { service, url } = await directory.start({ ...WITH_TOKEN, STORE_TIMEOUT: '100ms' });
    directory.openDatabase().exec('BEGIN EXCLUSIVE');
    expect(await create(url)).toEqual(refusal(503));
    await service.stop();

    const requests = service.lines.filter((line) => line.includes('"message":"request"'));
    expect(requests.map((line): unknown => JSON.parse(line))).toMatchObject([{ level: 'warn', error: 503 }]);
  });

  it.each([
    ['fatal', []],
    ['warn', ['error', 'error']],
    ['trace', ['info', 'info', 'info', 'error', 'error', 'info', 'info']],
  ])('has the lines of at least the severity of LOG_LEVEL=%s: %j', async (level, expected) => {
    const { service, token, url } = await directory.firstStart({ LOG_LEVEL: level });
    breakStore();
    expect(await create(url, MONSTERA, token)).toEqual(refusal(500));
    await service.stop();

    expect([...service.stdout.matchAll(/^\{"level":"(\w+)"/gm)].map(([, logged]) => logged)).toEqual(expected);
  });
});

describe('The log on a terminal', () => {
  it('has readable lines, with the stack of an error', async () => {
    const service = directory.launch(WITH_TOKEN, ON_TERMINAL);
    const url = await service.printed(/Listening: POST (\S+)\/plants/);
    expect(await create(url)).toEqual(CREATED);
    breakStore();
    expect(await create(url, { id: 2, name: 'Ficus' })).toEqual(refusal(500));
    await service.stop();

    const text = stripVTControlCharacters(service.stdout);
    expect(text).toMatch(/^\[Plant Store\] .+ LOG POST \/plants 200 \{"requestId":"[^"]+","principal":"token-1",/m);
    expect(text).toMatch(
      /^\[Plant Store\] .+ ERROR \[PlantStore\] The request \S+ failed: no more plants\r\nError: no more plants\r\n +at /m,
    );
    expect(text).toMatch(/^\[Plant Store\] .+ ERROR POST \/plants 400 \{.*"error":500,/m);
  });
});
