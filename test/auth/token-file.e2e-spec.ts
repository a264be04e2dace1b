import { once } from 'node:events';
import {
  appendFileSync,
  chownSync,
  mkdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { Agent, type IncomingMessage, request } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
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
    ['is written in place', (text) => writeFileSync(file, text)],
    [
      'is removed and created again',
      (text) => {
        unlinkSync(file);
        writeFileSync(file, text, { mode: 0o600 });
      },
    ],
    [
      'is emptied and then written line by line',
      (text) => {
        writeFileSync(file, '');
        for (const part of text.split(/(?<=\n)/)) appendFileSync(file, part);
      },
    ],
    [
      'becomes a symbolic link, as mounted secrets are',
      (text) => {
        mkdirSync(directory.file('..data'));
        writeFileSync(directory.file('..data/tokens'), text, { mode: 0o600 });
        symlinkSync('..data/tokens', `${file}.new`);
        renameSync(`${file}.new`, file);
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

  it('has no delay between the expiry of a token and its refusal', async () => {
    const expires = new Date(Math.ceil(Date.now() / 1_000) * 1_000 + 1_000);
    put(file, line('tests', TOKEN) + line('trainee', SECOND_TOKEN, expires));
    await tokens.reload();
    expect(await attempt(service.url, SECOND_TOKEN)).toBe(200);

    let last = Date.now();
    // The requests matter from shortly before to shortly after the expiry.
    await wait(expires.getTime() - 100 - last);
    for (let sent = last; (await attempt(service.url, SECOND_TOKEN)) === 200; sent = Date.now()) last = sent;

    expect(last).toBeLessThan(expires.getTime());
    expect(Date.now()).toBeGreaterThanOrEqual(expires.getTime());
    expect(await attempt(service.url, TOKEN)).toBe(200);
  });

  it.each<[string, RegExp, () => void]>([
    ['has an invalid line', /line 2, is not a token/, () => put(file, `${line('tests', SECOND_TOKEN)}ci secret\n`)],
    ['is empty', /is empty/, () => put(file, '')],
    ['is missing', /cannot be read/, () => unlinkSync(file)],
    [
      'is a directory',
      /not a regular file/,
      () => {
        unlinkSync(file);
        mkdirSync(file);
      },
    ],
    ['is group-writable', /chmod 600/, () => put(file, line('tests', SECOND_TOKEN), 0o660)],
    ['is world-writable', /chmod 600/, () => put(file, line('tests', SECOND_TOKEN), 0o602)],
  ])(
    'that %s keeps the previous tokens, is logged once, and is reloaded when it is repaired',
    async (_, reason, spoil) => {
      spoil();
      await tokens.reload();
      await tokens.reload();

      expect(await attempt(service.url, TOKEN)).toBe(200);
      expect(await attempt(service.url, SECOND_TOKEN)).toBe(401);
      expect(service.log()).toEqual([expect.stringMatching(reason)]);
      expect(service.log()[0]).toMatch(/; keeping the tokens read before\n/);
      expect(service.log()[0]).not.toContain('secret');

      rmSync(file, { recursive: true, force: true });
      put(file, line('tests', SECOND_TOKEN));
      await untilAnswer(200, service.url, SECOND_TOKEN);
      expect(await attempt(service.url, TOKEN)).toBe(401);
    },
  );

  it('is refused if another user owns it, which only root can cause', async () => {
    put(file, line('tests', SECOND_TOKEN));
    if (process.getuid?.() !== 0) {
      expect(() => chownSync(file, 12_345, 12_345)).toThrow('EPERM');
      return;
    }
    chownSync(file, 12_345, 12_345);
    await tokens.reload();

    expect(await attempt(service.url, TOKEN)).toBe(200);
    expect(service.log()).toEqual([expect.stringMatching(/belongs to another user/)]);
  });

  it('may change a hundred times under 16 clients without a refusal of a token that stays', async () => {
    const answers = new Map<string, number>();
    let stopped = false;
    const clients = Array.from({ length: 16 }, async () => {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      // Only a valid token gets error 404.
      const options = { agent, headers: { Authorization: `Bearer ${TOKEN}` } };
      while (!stopped) {
        const outgoing = request(`${service.url}/elsewhere`, options).end();
        const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
        const [chunk] = (await once(response, 'data')) as [Buffer];
        const number = chunk.toString().slice(0, 12);
        answers.set(number, (answers.get(number) ?? 0) + 1);
      }
      agent.destroy();
    });

    const wrong: string[] = [];
    for (let change = 1; change <= 100; change += 1) {
      // While it is written in place, the file is empty for moments.
      const text = `${line('passing', `token-${change}`)}${line('tests', TOKEN)}`;
      if (change % 2 === 0) put(file, text);
      else writeFileSync(file, text);
      await tokens.reload();
      // Each check takes long, because it waits behind the clients.
      if (change % 10 > 0) continue;
      if ((await attempt(service.url, `token-${change}`)) !== 200) wrong.push(`${change} is not valid`);
      if ((await attempt(service.url, `token-${change - 1}`)) !== 401) wrong.push(`${change - 1} is still valid`);
    }
    stopped = true;
    await Promise.all(clients);

    expect(wrong).toEqual([]);
    expect([...answers.keys()]).toEqual(['{"error":404']);
    expect(answers.get('{"error":404')).toBeGreaterThan(1_000);
  });
});
