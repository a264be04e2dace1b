import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { digestToken, generateToken } from '../auth/static-tokens.js';
import {
  addToken,
  changeTokenFile,
  parseInstant,
  parseTokens,
  readTokenFile,
  removeTokens,
  TokenFileError,
} from '../auth/token-file.js';
import { ConfigurationError, loadConfiguration } from '../config/configuration.js';

/** Exit statuses; a command that succeeds ends with 0. */
const FAILED = 1;
const BAD_COMMAND_LINE = 2;

/** Returns the instant after so many days, in whole seconds. */
function inDays(days: number): Date {
  return new Date((Math.floor(Date.now() / 1_000) + days * 86_400) * 1_000);
}

/** A command that cannot be carried out; the message is one line. */
class CommandError extends Error {}

const program = new Command('token')
  .description(
    'Creates, lists and revokes static tokens. A running service uses the change within a second.\n' +
      'The file is that of ACCESS_TOKENS_FILE, from the environment or .env; by default it is beside the data.',
  )
  .option('--file <path>', 'the file of tokens')
  .exitOverride();

program
  .command('create')
  .description('create a token and print it; only its digest is kept')
  .requiredOption('--name <name>', 'name of its principal, for the log: one word', parseName)
  .addOption(
    new Option('--expires <when>', 'days such as 90d, an instant such as 2030-01-01T00:00:00Z, or never')
      .argParser(parseExpiry)
      .default({ at: inDays(90) }, '90d'),
  )
  .action(async ({ name, expires }: { name: string; expires: { at: Date | undefined } }) => {
    const file = tokenFile();
    const token = generateToken();
    await changeTokenFile(file, (text) => {
      if (listNames(text, file).includes(name)) {
        throw new CommandError(`${name} already has a token: choose another name, or revoke it first`);
      }
      return addToken(text, { name, digest: digestToken(token), expires: expires.at });
    });
    process.stdout.write(`${token}\n`);
    const until = expires.at === undefined ? 'never expires' : `expires at ${expires.at.toISOString()}`;
    process.stderr.write(`${name} ${until}. The token is shown only once; ${file} keeps its digest.\n`);
  });

program
  .command('list')
  .description('print the name, the expiry and the state of each token, separated by tabs')
  .action(async () => {
    const file = tokenFile();
    for (const { name, expires } of parseTokens(await readTokenFile(file), file)) {
      const state = expires !== undefined && expires.getTime() <= Date.now() ? 'expired' : 'valid';
      process.stdout.write(`${name}\t${expires?.toISOString() ?? 'never'}\t${state}\n`);
    }
  });

program
  .command('revoke')
  .description('revoke every token of this name')
  .argument('<name>')
  .action(async (name: string) => {
    const file = tokenFile();
    await changeTokenFile(file, (text) => {
      if (!listNames(text, file).includes(name)) throw new CommandError(`${file} has no token named ${name}`);
      return removeTokens(text, name);
    });
    process.stderr.write(`${name} is revoked.\n`);
  });

function tokenFile(): string {
  const { file } = program.opts<{ file?: string }>();
  if (file !== undefined) return file;
  const { accessTokens, accessTokensFile, firstTokenFile } = loadConfiguration();
  if (accessTokensFile === undefined && accessTokens.length > 0) {
    throw new ConfigurationError(
      'with ACCESS_TOKENS alone the service reads no file: set ACCESS_TOKENS_FILE too, or pass --file',
    );
  }
  return accessTokensFile ?? firstTokenFile;
}

/** Returns the names in a file. A wrong line ends the command, so that a person can look at it. */
function listNames(text: string, file: string): string[] {
  return text === '' ? [] : parseTokens(text, file).map(({ name }) => name);
}

function parseName(text: string): string {
  if (/^(?![#-])[^\s\p{C}]+$/u.test(text)) return text;
  throw new InvalidArgumentError('It must be one word that does not begin with # or -, such as ci.');
}

function parseExpiry(text: string): { at: Date | undefined } {
  if (text === 'never') return { at: undefined };
  const days = /^(\d{1,5})d$/.exec(text)?.[1];
  const at = days === undefined ? parseInstant(text) : inDays(Number(days));
  if (at === undefined || at.getTime() <= Date.now()) {
    throw new InvalidArgumentError(
      'It must be days such as 90d, a future instant such as 2030-01-01T00:00:00Z, or never.',
    );
  }
  return { at };
}

try {
  await program.parseAsync();
} catch (error) {
  if (error instanceof CommanderError) {
    process.exitCode = error.exitCode === 0 ? 0 : BAD_COMMAND_LINE;
  } else if (error instanceof CommandError || error instanceof TokenFileError || error instanceof ConfigurationError) {
    process.stderr.write(`token: ${error.message}\n`);
    process.exitCode = error instanceof ConfigurationError ? BAD_COMMAND_LINE : FAILED;
  } else {
    throw error;
  }
}
