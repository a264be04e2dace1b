import { TOKEN } from './service.js';

export const SECOND_TOKEN = 'another-token-of-the-tests';

export const MONSTERA = { id: 1, name: 'Monstera' };

export interface Answer {
  readonly status: number;
  readonly body: unknown;
}

/** The answer to a request that creates MONSTERA. */
export const CREATED: Answer = { status: 200, body: { name: 'Monstera' } };

/** Matches an answer that refuses a request with this error. */
export function refusal(error: number): Answer {
  return { status: 400, body: { error, message: expect.any(String) as unknown } };
}

/** Sends a body to POST /plants. */
export async function post(url: string, body: string, token = TOKEN): Promise<Answer> {
  const response = await fetch(`${url}/plants`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    body,
  });
  return { status: response.status, body: await response.json() };
}

export function create(url: string, plant: object = MONSTERA, token = TOKEN): Promise<Answer> {
  return post(url, JSON.stringify(plant), token);
}

/** Creates MONSTERA, and returns 200 or the error number of the answer. */
export async function attempt(url: string, token: string): Promise<number> {
  const { status, body } = await create(url, MONSTERA, token);
  return (body as { error?: number }).error ?? status;
}
