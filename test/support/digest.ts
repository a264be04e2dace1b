import { createHash } from 'node:crypto';

/** Returns the digest of a token as token files hold it. */
export function digest(token: string): string {
  return `sha256:${createHash('sha256').update(token).digest('hex')}`;
}
