/** Lines that are wrong for Node already, and what is wrong with them. */
const WRONG: readonly { readonly form: RegExp; readonly fault: string }[] = [
  // `PORT 8080`: neither a variable nor blank nor a comment.
  { form: /^(?![^=#]+=|\s*(?:#|$))/, fault: 'must be a variable such as PORT=8080, or begin with #' },
  // `A="b`, unlike `A="b"`: the value would take the variables of other lines.
  { form: /^[^=#]+=\s*(["'`])(?!.*\1)/s, fault: 'has a value whose quotation mark does not close' },
  // `A="b" c`, unlike `A="b" # c`: Node drops the text.
  {
    form: /^[^=#]+=\s*(["'`])(?:(?!\1).)*\1(?!\s*(?:#|$))/s,
    fault: 'has text behind the closing quotation mark of its value',
  },
];

/**
 * Match the other lines that Node and systemd (EnvironmentFile= in systemd.exec(5)) read alike. These they read differently:
 *
 * | line          | Node reads | systemd reads                          |
 * |---------------|------------|----------------------------------------|
 * | `# a\`        | nothing    | nothing; before 254, nor the next line |
 * | `A=b#c`       | `b`        | `b#c`                                  |
 * | `A="b" # c`   | `b`        | `b# c`                                 |
 * | `A=b\c`       | `b\c`      | `bc`                                   |
 * | ``A=`b` ``    | `b`        | `` `b` ``                              |
 * | `export A=b`  | `b`        | nothing                                |
 */
const READ_ALIKE: readonly RegExp[] = [
  /^\s*$/,
  /^\s*#.*(?<!\\)$/,
  /^\s*\w+\s*=[^#\\`\r]*$/,
  /^\s*\w+\s*=\s*"[^"\\`\r]*"\s*$/,
  /^\s*\w+\s*=\s*'[^'\\`\r]*'\s*$/,
];

const READ_DIFFERENTLY =
  'would be read differently by systemd: use no export, no comment after a value, no backslash and no backtick, and put a ' +
  'value with # into quotation marks';

/**
 * Returns what is wrong with a line of a file of variables; undefined if nothing is.
 *
 * @param isForSystemd true if systemd may read the file, too
 */
export function faultOf(line: string, isForSystemd: boolean): string | undefined {
  const wrong = WRONG.find(({ form }) => form.test(line));
  if (wrong !== undefined) return wrong.fault;
  return isForSystemd && !READ_ALIKE.some((form) => form.test(line)) ? READ_DIFFERENTLY : undefined;
}

/** Returns whether a line is a variable, and neither blank nor a comment. */
export function isVariable(line: string): boolean {
  return /^[^=#]+=/.test(line);
}
