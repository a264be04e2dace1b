/**
 * Removes user and password from each URL in a text: all from :// to the last @ of the word. A user alone is no secret, and
 * examples in messages have one.
 */
export function withoutCredentials(text: string): string {
  return text.replace(/(?<!\bfile):\/\/(\S*)@/g, (found, user: string) => (/^\w+$/.test(user) ? found : '://'));
}
