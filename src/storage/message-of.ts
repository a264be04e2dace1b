/** Reads the message of an error, which in Jest may be of another realm, where `instanceof` fails. */
export function messageOf(error: unknown): string {
  return typeof error === 'object' && error !== null && 'message' in error ? String(error.message) : String(error);
}
