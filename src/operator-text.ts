/** Returns a list in words, such as `id, name or tag`. */
export function listed(words: readonly string[], conjunction: 'and' | 'or'): string {
  const last = words.at(-1) ?? '';
  return words.length > 1 ? `${words.slice(0, -1).join(', ')} ${conjunction} ${last}` : last;
}

/** Quotes a word for a command that a message shows, if a shell needs that. */
export function inShell(word: string): string {
  return /^[\w./:@-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/**
 * Removes user and password from each URL in a text: all from :// to the last @ of the word. A user alone is no secret, and
 * examples in messages have one.
 */
export function withoutCredentials(text: string): string {
  return text.replace(/(?<!\bfile):\/\/(\S*)@/g, (found, user: string) => (/^\w+$/.test(user) ? found : '://'));
}
