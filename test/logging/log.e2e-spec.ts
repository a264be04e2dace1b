/** The log on stdout: one JSON object a line, or readable lines on a terminal; LOG_LEVEL decides which. */
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

    const request = { message: 'request', path: '/plants' };
    const lines = service.lines.map((line) => JSON.parse(line) as { time: string; message: string });
    for (const { time } of lines) expect(time).toMatch(ISO_TIME);
    const listening = lines.findIndex(({ message }) => message === `Listening: POST ${url}/plants`);
    expect(lines.slice(listening)).toMatchObject([
      { level: 'info', context: 'PlantStore' },
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

  it('has only the lines of at least the severity of LOG_LEVEL, and a request with error 503 as a warning', async () => {
    const { service, token, url } = await directory.firstStart({ STORE_TIMEOUT: '100ms', LOG_LEVEL: 'warn' });
    const other = directory.openDatabase();
    other.exec('BEGIN EXCLUSIVE');
    expect(await create(url, MONSTERA, token)).toEqual(refusal(503));
    other.close();
    expect(await create(url, MONSTERA, token)).toEqual(CREATED);
    await service.stop();

    expect(service.lines.map((line): unknown => JSON.parse(line))).toMatchObject([
      { level: 'warn', message: expect.stringMatching(/^Plants refused with 503: /) as unknown },
      { level: 'warn', message: 'request', error: 503 },
    ]);
  });
});

describe('The log on a terminal', () => {
  it('has readable lines, with the stack of an error', async () => {
    const service = directory.launch(WITH_TOKEN, ON_TERMINAL);
    const url = await service.printed(/Listening: POST (\S+)\/plants/);
    expect(await create(url)).toEqual(CREATED);
    breakStore();
    expect(await create(url, { id: 2, name: 'Ficus' })).toEqual(refusal(500));
    // The signal ends `script`, too, and the line of a request comes after its answer.
    await service.printed(/("error":500),/);
    await service.stop();

    const text = stripVTControlCharacters(service.stdout);
    expect(text).toMatch(/^\[Plant Store\] .+ LOG POST \/plants 200 \{"requestId":"[^"]+","principal":"token-1",/m);
    expect(text).toMatch(
      /^\[Plant Store\] .+ ERROR \[PlantStore\] The request \S+ failed: no more plants\r\nError: no more plants\r\n +at /m,
    );
    expect(text).toMatch(/^\[Plant Store\] .+ ERROR POST \/plants 400 \{.*"error":500,/m);
  });
});
