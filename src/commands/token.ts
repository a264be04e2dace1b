import { type Command, InvalidArgumentError, Option } from 'commander';
import { digestToken, generateToken, isExpired } from '../auth/static-tokens.js';
import { addToken, parseInstant, parseTokens, readTokenFile, removeTokens } from '../auth/token-file.js';
import { loadConfiguration } from '../config/load-configuration.js';
import { badUsage } from '../operator-error.js';
import { JSON_OPTION, printSummary, type ReportOptions } from './command-line.js';

interface CreateOptions extends ReportOptions {
  readonly name: string;
  readonly expires: Date | 'never';
}

export function configure(command: Command): void {
  command
    .description(
      'Creates, lists and revokes static tokens. A running service uses the change within a second. ' +
        'The file is that of ACCESS_TOKENS_FILE, from the environment or .env; by default it is beside the data.',
    )
    .helpCommand(false)
    .configureHelp({ showGlobalOptions: true })
    .option('--file <path>', 'the file of tokens')
    .addHelpText('after', '\nExample:\n  plant-store token create --name ci --expires 90d');
  command
    .command('create')
    .description('create a token and print it; only its digest is kept')
    .requiredOption('--name <name>', 'name of its principal, for the log: one word', parseName)
    .addOption(
      new Option('--expires <when>', 'days such as 90d, an instant such as 2030-01-01T00:00:00Z, or never')
        .argParser(parseExpiry)
        .default(inDays(90), '90d'),
    )
    .option(...JSON_OPTION)
    .action((options: CreateOptions) => create(fileOf(command.opts()), options));
  command
    .command('list')
    .description('print the name, the expiry and the state of each token, separated by tabs')
    .option(...JSON_OPTION)
    .action((options: ReportOptions) => list(fileOf(command.opts()), options));
  command
    .command('revoke')
    .description('revoke every token of this name')
    .argument('<name>')
    .option(...JSON_OPTION)
    .action((name: string, options: ReportOptions) => revoke(fileOf(command.opts()), name, options));
}

function create(file: string, { name, expires: when, json }: CreateOptions): void {
  const token = generateToken();
  const expires = when === 'never' ? undefined : when;
  addToken(file, { name, digest: digestToken(token), expires });
  process.stdout.write(`${json === true ? JSON.stringify({ name, token, expires: expires ?? null, file }) : token}\n`);
  if (json === true) return;
  const until = expires === undefined ? 'never expires' : `expires at ${expires.toISOString()}`;
  process.stderr.write(`${name} ${until}. The token is shown only once; ${file} keeps its digest.\n`);
}

function list(file: string, { json }: ReportOptions): void {
  const tokens = parseTokens(readTokenFile(file), file).map((token) => {
    const { name, expires = null } = token;
    return { name, expires, state: isExpired(token) ? 'expired' : 'valid' };
  });
  const lines = tokens.map(({ name, expires, state }) => `${name}\t${expires?.toISOString() ?? 'never'}\t${state}\n`);
  process.stdout.write(json === true ? `${JSON.stringify(tokens)}\n` : lines.join(''));
}

function revoke(file: string, name: string, options: ReportOptions): void {
  removeTokens(file, name);
  printSummary({ name, file }, `${name} is revoked.`, options);
}

function fileOf({ file }: { readonly file?: string }): string {
  if (file !== undefined) return file;
  const { tokenFile } = loadConfiguration();
  if (tokenFile !== undefined) return tokenFile;
  throw badUsage('with ACCESS_TOKENS alone the service reads no file: set ACCESS_TOKENS_FILE too, or pass --file');
}

function parseName(text: string): string {
  if (/^(?![#-])[^\s\p{C}]+$/u.test(text)) return text;
  throw new InvalidArgumentError('It must be one word that does not begin with # or -, such as ci.');
}

function parseExpiry(text: string): Date | 'never' {
  if (text === 'never') return text;
  const days = /^(\d{1,5})d$/.exec(text)?.[1];
  const expiry = days === undefined ? parseInstant(text) : inDays(Number(days));
  if (expiry !== undefined && expiry.getTime() > Date.now()) return expiry;
  throw new InvalidArgumentError(
    'It must be days such as 90d, a future instant such as 2030-01-01T00:00:00Z, or never.',
  );
}

/** Returns the instant after so many days, in whole seconds. */
function inDays(days: number): Date {
  return new Date((Math.floor(Date.now() / 1_000) + days * 86_400) * 1_000);
}
