/** A token that every service of the tests accepts. */
export const TOKEN = 'a-token-of-the-tests';

export const SECOND_TOKEN = 'another-token-of-the-tests';

export const MONSTERA = { id: 1, name: 'Monstera' };

/** Returns MONSTERA with another id. */
export function monstera(id: number): object {
  return { ...MONSTERA, id };
}

interface Answer {
  readonly status: number;
  readonly body: unknown;
  /** The header Retry-After. */
  readonly retryAfter: string | null;
}

/** The answer to a request that creates MONSTERA. */
export const CREATED = created('Monstera');

/** Returns the answer to a request that creates a plant without a tag. */
export function created(name: string): Answer {
  return { status: 200, body: { name }, retryAfter: null };
}

/** Matches an answer that refuses a request with this error. */
export function refusal(error: number): Answer {
  const body = { error, message: expect.any(String) as unknown };
  return { status: 400, body, retryAfter: error === 503 ? '1' : null };
}

/** Sends a body to POST /plants. */
export async function post(url: string, body: string, token = TOKEN): Promise<Answer> {
  const response = await fetch(`${url}/plants`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    body,
  });
  return { status: response.status, body: await response.json(), retryAfter: response.headers.get('retry-after') };
}

export function create(url: string, plant: object = MONSTERA, token = TOKEN): Promise<Answer> {
  return post(url, JSON.stringify(plant), token);
}
