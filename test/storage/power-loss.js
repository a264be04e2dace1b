/**
 * Checks in the order of system calls that the service synchronises the write-ahead log before it sends an answer. It
 * needs strace: npm run build && node test/storage/power-loss.js
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const CREATES = 50;
const CALLS = 'pwrite64,write,writev,fsync,fdatasync,sendto,sendmsg';

const directory = mkdtempSync(join(tmpdir(), 'plant-store-'));
const trace = join(directory, 'trace');
const main = join(import.meta.dirname, '../../dist/main.js');
const service = spawn(
  'strace',
  ['-f', '-yy', '-s', '60', '-e', `trace=${CALLS}`, '-o', trace, process.execPath, main],
  {
    cwd: directory,
    env: { PATH: process.env.PATH, PORT: '0', MANAGEMENT_PORT: 'off', ACCESS_TOKENS: 'power' },
    stdio: ['ignore', 'pipe', 'inherit'],
  },
);
const [line] = await once(service.stdout.setEncoding('utf8'), 'data');
const url = JSON.parse(line).message.replace('Listening: POST ', '');
for (let id = 1; id <= CREATES; id += 1) {
  const response = await fetch(url, {
    method: 'POST',
    headers: { Authorization: 'Bearer power', 'Content-Type': 'application/json' },
    body: JSON.stringify({ id, name: `plant ${id}` }),
  });
  if (response.status !== 200) throw new Error(await response.text());
}
// Without strace, the service would continue to run: end its child instead.
process.kill(Number(readFileSync(`/proc/${service.pid}/task/${service.pid}/children`, 'utf8')), 'SIGTERM');
await once(service, 'close');

/** For each answer, the calls since the previous one that write to the log or to a client. */
const answers = [];
let calls = [];
for (const text of readFileSync(trace, 'utf8').split('\n')) {
  const call = text.replace(/^\d+ +/, '');
  // strace splits a call into two lines if another thread makes a call meanwhile.
  if (/plants\.db-wal>|^<\.{3} f(?:data)?sync resumed>/.test(call)) calls.push(call.replaceAll(`${directory}/`, ''));
  if (/HTTP\/1\.1 200/.test(call)) {
    answers.push([...calls, call]);
    calls = [];
  }
}
rmSync(directory, { recursive: true });

const unsafe = answers.filter((sequence) => {
  const written = sequence.findLastIndex((call) => call.startsWith('pwrite64('));
  const synchronised = sequence.findLastIndex((call) =>
    /^(?:f(?:data)?sync\(|<\.{3} f(?:data)?sync resumed>).* = 0$/.test(call),
  );
  return written === -1 || synchronised < written;
});
console.log(answers.at(-1)?.join('\n'));
console.log(`${answers.length} answers, of which ${unsafe.length} left before the log was synchronised`);
process.exitCode = answers.length === CREATES && unsafe.length === 0 ? 0 : 1;
