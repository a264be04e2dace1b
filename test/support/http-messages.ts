import { TOKEN } from './client.js';

export const AUTHORIZATION = `Authorization: Bearer ${TOKEN}`;

/** The parts of a request, as lines without their ends. */
export interface Parts {
  readonly line?: string;
  readonly host?: readonly string[];
  readonly authorization?: readonly string[];
  readonly type?: readonly string[];
  readonly framing?: readonly string[];
  readonly more?: readonly string[];
  readonly body?: string;
}

/** Returns a request that creates a plant, with these parts changed. */
export function message(parts: Parts = {}): string {
  const body = parts.body ?? plant(1);
  return [
    parts.line ?? 'POST /plants HTTP/1.1',
    ...(parts.host ?? ['Host: plants.example']),
    ...(parts.authorization ?? [AUTHORIZATION]),
    ...(parts.type ?? ['Content-Type: application/json']),
    ...(parts.framing ?? [`Content-Length: ${body.length}`]),
    ...(parts.more ?? []),
    '',
    body,
  ].join('\r\n');
}

/** Returns a request with a chunked body. */
export function chunkedMessage(body: string, parts: Parts = {}): string {
  return message({ framing: ['Transfer-Encoding: chunked'], ...parts, body });
}

export function plant(id: number): string {
  return `{"id":${id},"name":"Plant ${id}"}`;
}

export function chunks(...bodies: string[]): string {
  return [...bodies, ''].map((body) => `${body.length.toString(16)}\r\n${body}\r\n`).join('');
}

/** Returns a request that creates a plant, whose name has this many characters. */
export function creation(id: number, size = 0): string {
  return message({ body: JSON.stringify({ id, name: 'n'.repeat(size) }) });
}

/** The head of a request with a body of 25 bytes, which the client sends once the service asks for it. */
export const HEAD = message({ framing: ['Content-Length: 25', 'Expect: 100-continue'], body: '' });
