/**
 * Match the lines that Node and systemd (EnvironmentFile= in systemd.exec(5)) read alike: blank lines, comments, and
 * variables whose values have no character that the two programs read differently.
 */
const READ_ALIKE: readonly RegExp[] = [
  /^\s*$/,
  /^\s*#.*(?<!\\)$/,
  /^\s*\w+\s*=[^#\\`\r]*$/,
  /^\s*\w+\s*=\s*"[^"\\`\r]*"\s*$/,
  /^\s*\w+\s*=\s*'[^'\\`\r]*'\s*$/,
];

/** Returns whether a line is a variable, and neither blank nor a comment. */
export function isVariable(line: string): boolean {
  return /^[^=#]+=/.test(line);
}

/**
 * Returns what is wrong with a line of a file of variables; undefined if nothing is.
 *
 * | line                | Node reads                 | systemd reads                               | accepted         |
 * |---------------------|----------------------------|---------------------------------------------|------------------|
 * | blank, `# a`        | nothing                    | nothing                                     | always           |
 * | `A=b c`             | `b c`                      | `b c`                                       | always           |
 * | `A="b#c"`, `A='b'`  | `b#c`, `b`                 | `b#c`, `b`                                  | always           |
 * | `# a\`              | nothing                    | nothing; before 254, nor the next line      | not for systemd  |
 * | `A=b#c`             | `b`                        | `b#c`                                       | not for systemd  |
 * | `A="b" # c`         | `b`                        | `b# c`                                      | not for systemd  |
 * | `A=b\c`             | `b\c`                      | `bc`                                        | not for systemd  |
 * | ``A=`b` ``          | `b`                        | `` `b` ``                                   | not for systemd  |
 * | `export A=b`        | `b`                        | nothing                                     | not for systemd  |
 * | `A`                 | nothing                    | nothing                                     | never            |
 * | `A="b" c`           | `b`                        | `bc`                                        | never            |
 * | `A="b`              | further lines up to a `"`  | further lines up to a `"`                   | never            |
 *
 * @param isForSystemd true if systemd may read the file, too
 */
export function faultOf(line: string, isForSystemd: boolean): string | undefined {
  return faultForNode(line) ?? (isForSystemd ? faultForSystemd(line) : undefined);
}

function faultForNode(line: string): string | undefined {
  if (!isVariable(line)) {
    return /^\s*(?:#|$)/.test(line) ? undefined : 'must be a variable such as PORT=8080, or begin with #';
  }
  // Splits `NAME="text"` into `"` and `text"`.
  const [, mark, rest = ''] = /^[^=]+=\s*(["'`])(.*)$/s.exec(line) ?? [];
  if (mark === undefined) return undefined;
  const end = rest.indexOf(mark);
  // The value would take the variables of other lines.
  if (end < 0) return 'has a value whose quotation mark does not close';
  // Only a comment may follow, because Node drops the text.
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
