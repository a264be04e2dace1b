import { appendFileSync, mkdirSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { FileTokens } from '../../src/auth/file-tokens.js';
import { attempt, SECOND_TOKEN, TOKEN } from '../support/client.js';
import { type Service, startService } from '../support/service.js';
import { ServiceDirectory } from '../support/service-directory.js';
import { line, put, untilAnswer } from '../support/token-file.js';

let directory: ServiceDirectory;
let file: string;

beforeEach(() => {
  directory = new ServiceDirectory();
  file = directory.file('tokens');
});

afterEach(() => directory.remove());

describe('A token file', () => {
  let tokens: FileTokens;
  let service: Service;

  beforeEach(async () => {
    put(file, line('tests', TOKEN));
    tokens = new FileTokens(file);
    service = await startService({ verifier: tokens });
  });

  afterEach(() => service.close());

  it.each<[string, (text: string) => void]>([
    ['is replaced', (text) => put(file, text)],
    [
      'is emptied and then written line by line',
      (text) => {
        writeFileSync(file, '');
        for (const part of text.split(/(?<=\n)/)) appendFileSync(file, part);
      },
    ],
  ])('is reloaded when it %s, for open connections as well', async (_, change) => {
    expect(await attempt(service.url, TOKEN)).toBe(200);
    change(`${line('tests', SECOND_TOKEN)}${line('others', 'a-third-token')}`);

    await untilAnswer(200, service.url, SECOND_TOKEN);
    expect(await attempt(service.url, TOKEN)).toBe(401);
    expect(await attempt(service.url, 'a-third-token')).toBe(200);
  });

  it('that is a symbolic link is reloaded when its target changes', async () => {
    for (const [name, text] of [
      ['v1', line('tests', TOKEN)],
      ['v2', line('tests', SECOND_TOKEN)],
    ] as const) {
      mkdirSync(directory.file(name));
      writeFileSync(directory.file(`${name}/tokens`), text, { mode: 0o600 });
    }
    symlinkSync('v1', directory.file('..data'));
    unlinkSync(file);
    symlinkSync('..data/tokens', file);
    expect(await attempt(service.url, TOKEN)).toBe(200);

    symlinkSync('v2', directory.file('..new'));
    renameSync(directory.file('..new'), directory.file('..data'));

    await untilAnswer(200, service.url, SECOND_TOKEN);
    expect(await attempt(service.url, TOKEN)).toBe(401);
  });

  it('may lose its last token', async () => {
    put(file, '# no tokens\n');

    await untilAnswer(401, service.url, TOKEN);
    expect(service.log()).toEqual([]);
  });

  it.each<[string, RegExp, () => void]>([
    ['has an invalid line', /line 2, is not a token/, () => put(file, `${line('tests', SECOND_TOKEN)}ci secret\n`)],
    ['is empty', /is empty/, () => put(file, '')],
    ['is missing', /cannot be read/, () => unlinkSync(file)],
    ['is group-writable', /chmod 600/, () => put(file, line('tests', SECOND_TOKEN), 0o660)],
    ['is world-writable', /chmod 600/, () => put(file, line('tests', SECOND_TOKEN), 0o602)],
  ])('that %s keeps the previous tokens, is logged, and is reloaded when it is repaired', async (_, reason, spoil) => {
    spoil();
    tokens.reload();

    expect(await attempt(service.url, TOKEN)).toBe(200);
    expect(await attempt(service.url, SECOND_TOKEN)).toBe(401);
    expect(service.log()[0]).toMatch(reason);
    expect(service.log()[0]).toMatch(/; keeping the tokens read before\n/);
    expect(service.log()[0]).not.toContain('secret');

    rmSync(file, { recursive: true, force: true });
    put(file, line('tests', SECOND_TOKEN));
    await untilAnswer(200, service.url, SECOND_TOKEN);
    expect(await attempt(service.url, TOKEN)).toBe(401);
  });

  it('may change many times without a refusal of a token that stays', async () => {
    const answers = new Set<number>();
    let stopped = false;
    const clients = Array.from({ length: 4 }, async () => {
      while (!stopped) answers.add(await attempt(service.url, TOKEN));
    });

    for (let change = 1; change <= 20; change += 1) {
      // While it is written in place, the file is empty for moments.
      const text = `${line('passing', `token-${change}`)}${line('tests', TOKEN)}`;
      if (change % 2 === 0) put(file, text);
      else writeFileSync(file, text);
      tokens.reload();
      expect(await attempt(service.url, `token-${change}`)).toBe(200);
      expect(await attempt(service.url, `token-${change - 1}`)).toBe(401);
    }
    stopped = true;
    await Promise.all(clients);

    expect([...answers]).toEqual([200]);
  });
});
