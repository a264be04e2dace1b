import { lstatSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { badUsage } from '../operator-error.js';
import { assertPrivacy, readRegularFile } from '../files/regular-file.js';

/** Texts of variables, by their names. */
export type Variables = Readonly<Record<string, string | undefined>>;

/**
 * Match the lines that Node and systemd (EnvironmentFile= in systemd.exec(5)) read alike. ENV_FILE may be the file of the
 * unit, and the commands must see the same values as the service.
 */
const READ_ALIKE: readonly RegExp[] = [
  /^\s*$/,
  // Before version 254, systemd takes the line after a comment with a backslash at its end as a part of the comment.
  /^\s*#.*(?<!\\)$/,
  // `NAME=value`, `NAME="value"` and `NAME='value'`, without the characters that the two programs read differently.
  /^\s*\w+\s*=[^#\\`]*$/,
  /^\s*\w+\s*=\s*"[^"\\`]*"\s*$/,
  /^\s*\w+\s*=\s*'[^'\\`]*'\s*$/,
];

/**
 * Reads the variables of a file.
 *
 * @param file the file of ENV_FILE; without one, `.env` in the working directory, which may be missing
 * @throws {OperatorError} if it cannot be read, if another user could have written it, or if it has a wrong line
 */
export function readEnvFile(file?: string): Variables {
  const path = file ?? '.env';
  // lstat finds a link without a target: it is a secret that is not mounted, and reading it must fail.
  if (file === undefined && lstatSync(path, { throwIfNoEntry: false }) === undefined) return {};
  const lines = decode(readRegularFile(path, 'trusted'), path).split(/\r?\n/);
  for (const [index, line] of lines.entries()) {
    const fault = faultOf(line) ?? (file === undefined ? undefined : faultForSystemd(line));
    // The message must not have the line, which may have a secret.
    if (fault !== undefined) throw badUsage(`${path}, line ${index + 1}, ${fault}`);
  }
  // Blank lines are left out: after one with a space, Node 20 takes the line feed as a part of the next name.
  const assignments = lines.filter(isVariable).map((line) => line.trim());
  const variables = parseEnv(assignments.join('\n'));
  if (hasSecret(variables)) assertPrivacy(path, 'secret');
  return variables;
}

function isVariable(line: string): boolean {
  return /^[^=#]+=/.test(line);
}

/** Returns what is wrong with a line; undefined if nothing is. */
function faultOf(line: string): string | undefined {
  if (!isVariable(line)) {
    return /^\s*(?:#|$)/.test(line) ? undefined : 'must be a variable such as PORT=8080, or begin with #';
  }
  // Splits `NAME="text"` into `"` and `text"`.
  const [, mark, rest = ''] = /^[^=]+=\s*(["'`])(.*)$/.exec(line) ?? [];
  if (mark === undefined) return undefined;
  const end = rest.indexOf(mark);
  // The value would go on to the next such mark, and take the variables of other lines.
  if (end < 0) return 'has a value whose quotation mark does not close';
  // Node drops the text after the closing mark, which may only be a comment.
  return /^\s*(?:#|$)/.test(rest.slice(end + 1))
    ? undefined
    : 'has text behind the closing quotation mark of its value';
}

function faultForSystemd(line: string): string | undefined {
  if (READ_ALIKE.some((form) => form.test(line))) return undefined;
  return (
    'would be read differently by systemd: use no export, no comment after a value, no backslash and no backtick, and put a ' +
    'value with # into quotation marks'
  );
}

function decode(bytes: Buffer, path: string): string {
  try {
    // TextDecoder removes a byte order mark, which would become a part of the first variable's name.
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    throw badUsage(`${path} must be a file in UTF-8`, cause);
  }
}

/** Returns whether the variables have tokens, or the URL of a server, which may have a password. */
function hasSecret({ ACCESS_TOKENS = '', DATABASE_URL = '' }: Variables): boolean {
  return ACCESS_TOKENS !== '' || DATABASE_URL.startsWith('postgres');
}
