import { TOKEN } from './service.js';

/** What a client goes by that creates a plant where the store may fail. */
export interface Answer {
  readonly status: number;
  readonly error: number | undefined;
  readonly retryAfter: string | null;
}

export const CREATED: Answer = { status: 200, error: undefined, retryAfter: null };
export const UNAVAILABLE: Answer = { status: 400, error: 503, retryAfter: '1' };

/** Creates a plant in a service that takes `TOKEN`. */
export async function create(url: string, id: number, name = 'Monstera'): Promise<Answer> {
  const response = await fetch(`${url}/plants`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ id, name }),
  });
  const { error } = (await response.json()) as { error?: number };
  return { status: response.status, error, retryAfter: response.headers.get('retry-after') };
}
