import { Agent, type IncomingMessage, request } from 'node:http';
import { request as requestWithTls } from 'node:https';
import { monstera, TOKEN } from './client.js';

/** Milliseconds after which a client gives up. */
const PATIENCE = 60_000;

interface Reply {
  /** 200 or the error number; undefined without a complete answer. */
  readonly result: number | undefined;
  /** True if the connection ended in the middle of the answer. */
  readonly isCut?: boolean;
  /** True if the connection was open before. */
  readonly isReused: boolean;
}

/** Sends a body to POST /plants, by default on a connection of its own. */
export function sendBody(url: string, token: string, body: string, agent: Agent | false = false): Promise<Reply> {
  return new Promise((resolve) => {
    const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
    const options = { method: 'POST', agent, headers, rejectUnauthorized: false };
    const end = (reply: Omit<Reply, 'isReused'>): void => resolve({ ...reply, isReused: outgoing.reusedSocket });
    const answered = (response: IncomingMessage): void => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => (text += part));
      response.on('end', () => end({ result: (JSON.parse(text) as { error?: number }).error ?? response.statusCode }));
      response.on('error', () => end({ result: undefined, isCut: true }));
    };
    const outgoing = (url.startsWith('https:') ? requestWithTls : request)(`${url}/plants`, options, answered);
    outgoing.on('error', () => end({ result: undefined }));
    outgoing.setTimeout(PATIENCE, () => outgoing.destroy()).end(body);
  });
}

/** Creates a plant, by default on a connection of its own. */
export function send(url: string, token: string, id: number, agent?: Agent): Promise<Reply> {
  return sendBody(url, token, JSON.stringify(monstera(id)), agent);
}

/** Creates a plant on a connection of its own, and returns 200, the error number, or undefined without an answer. */
export async function ask(url: string, token = TOKEN, id = 1): Promise<number | undefined> {
  return (await send(url, token, id)).result;
}

/** Keeps connections open: one for each request that is sent at the same time. */
export function newAgent(): Agent {
  return new Agent({ keepAlive: true });
}
