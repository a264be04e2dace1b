/** Quotes a word for a command that a message shows, if a shell needs that. */
export function inShell(word: string): string {
  return /^[\w./:@-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
