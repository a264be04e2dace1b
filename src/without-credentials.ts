/**
 * Removes user and password from each URL with a password in a text: all from :// to the last @ of the word. A user alone is
 * no secret, and examples in messages have one.
 */
export function withoutCredentials(text: string): string {
  return text.replace(/(?<!\bfile)(:\/\/)[^\s:]*:\S*@/g, '$1');
}
