import { Agent, request } from 'node:http';
import { monstera, TOKEN } from './client.js';

interface Reply {
  /** 200 or the error number; undefined without an answer. */
  readonly result: number | undefined;
  /** Whether the connection was open before. */
  readonly isReused: boolean;
}

/** Creates a plant, by default on a connection of its own. */
export function send(url: string, token: string, id: number, agent: Agent | false = false): Promise<Reply> {
  return new Promise((resolve) => {
    const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
    const outgoing = request(`${url}/plants`, { method: 'POST', agent, headers }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => (text += part));
      response.on('end', () => {
        const result = (JSON.parse(text) as { error?: number }).error ?? response.statusCode;
        resolve({ result, isReused: outgoing.reusedSocket });
      });
    });
    outgoing.on('error', () => resolve({ result: undefined, isReused: outgoing.reusedSocket }));
    outgoing.end(JSON.stringify(monstera(id)));
  });
}

/** Creates a plant on a connection of its own, and returns 200, the error number, or undefined without an answer. */
export async function ask(url: string, token = TOKEN, id = 1): Promise<number | undefined> {
  return (await send(url, token, id)).result;
}

/** Keeps connections open: one for each request that is sent at the same time. */
export function newAgent(): Agent {
  return new Agent({ keepAlive: true });
}
