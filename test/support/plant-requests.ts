import request from 'supertest';
import { TOKEN } from './client.js';

/** Begins a valid request, whose body is sent exactly as it is given. */
export function post(url: string, path = '/plants'): request.Test {
  return request(url)
    .post(path)
    .set('Authorization', `Bearer ${TOKEN}`)
    .set('Content-Type', 'application/json')
    .serialize((body: unknown) => body as string);
}

/** Expects a refusal as the contract has it. */
export function expectError(response: request.Response, error: number, message: unknown = expect.any(String)): void {
  expect(response.status).toBe(400);
  expect(response.headers['content-type']).toBe('application/json');
  expect(response.body).toEqual({ error, message });
  expect((response.body as { message: string }).message).toMatch(/^\S.*\.$/);
}
