import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, importJWK, type JWK, type JWTPayload, SignJWT } from 'jose';
import type * as oidc from 'oidc-provider';

const CLIENT = { id: 'ci', secret: 'a-client-secret-of-the-tests' };

export const AUDIENCE = 'https://plants.example.com';

/** Creates a private key. */
export async function newKey(alg: string, kid: string): Promise<JWK> {
  const { privateKey } = await generateKeyPair(alg, { extractable: true });
  return { ...(await exportJWK(privateKey)), kid, alg, use: 'sig' };
}

/** The keys of the provider, of which it signs with the first. */
export const RSA = await newKey('RS256', 'first');
export const EC = await newKey('ES256', 'elliptic');

const { Provider } = await importProvider();

/** Imports oidc-provider without its warning about Node 20, on which the features in use work. */
async function importProvider(): Promise<typeof oidc> {
  const { warn } = console;
  console.warn = (message: string) => {
    if (!message.includes('Unsupported runtime')) warn(message);
  };
  try {
    return await import('oidc-provider');
  } finally {
    console.warn = warn;
  }
}

/** The storage of the provider. It stores nothing, because its tokens are self-contained. */
class EmptyStorage implements oidc.Adapter {
  upsert = (): Promise<undefined> => Promise.resolve(undefined);
  find = this.upsert;
  findByUserCode = this.upsert;
  findByUid = this.upsert;
  consume = this.upsert;
  destroy = this.upsert;
  revokeByGrantId = this.upsert;
}

interface Reply {
  readonly status?: number;
  readonly body?: string;
  readonly location?: string;
  /** True to reset the connection instead. */
  readonly resets?: boolean;
}

/** A real OpenID provider on loopback, which issues access tokens of RFC 9068 to one client. */
export class IdentityProvider {
  /** The paths of all requests. */
  readonly requests: string[] = [];
  /** Returns the answer to send instead of the provider's, or an empty object. */
  reply: (path: string) => Reply | Promise<Reply> = () => ({});
  #server: Server | undefined;
  #handle: RequestListener = () => undefined;
  #port = 0;

  get issuer(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** Starts on a free port, and later on the same port again. */
  async start(keys: readonly JWK[]): Promise<void> {
    this.#server = createServer((request, response) => void this.#answer(request, response));
    this.#server.listen(this.#port, '127.0.0.1');
    await once(this.#server, 'listening');
    this.#port = (this.#server.address() as AddressInfo).port;
    this.rotate(keys);
  }

  /** Publishes these keys, and signs with the first one, which is of RSA. */
  rotate(keys: readonly JWK[]): void {
    const provider = new Provider(this.issuer, {
      clients: [
        {
          client_id: CLIENT.id,
          client_secret: CLIENT.secret,
          grant_types: ['client_credentials'],
          redirect_uris: [],
          response_types: [],
        },
      ],
      adapter: EmptyStorage,
      ttl: { ClientCredentials: 300 },
      jwks: { keys: [...keys] },
      features: {
        devInteractions: { enabled: false },
        clientCredentials: { enabled: true },
        resourceIndicators: {
          enabled: true,
          getResourceServerInfo: () => ({
            scope: 'plants:read plants:write',
            audience: AUDIENCE,
            accessTokenFormat: 'jwt' as const,
            jwt: { sign: { alg: 'RS256' as const } },
          }),
        },
      },
    });
    const handle = provider.callback();
    this.#handle = (request, response) => void handle(request, response);
  }

  /** Requests a token with these scopes. */
  async token(scope: string): Promise<string> {
    const response = await fetch(`${this.issuer}/token`, {
      method: 'POST',
      headers: { Authorization: `Basic ${Buffer.from(`${CLIENT.id}:${CLIENT.secret}`).toString('base64')}` },
      body: new URLSearchParams({ grant_type: 'client_credentials', resource: AUDIENCE, scope }),
    });
    const { access_token: token } = (await response.json()) as { access_token?: string };
    if (token === undefined) throw new Error(`No token, but status ${response.status}`);
    return token;
  }

  /** Returns the claims of an access token for this service with these changes; undefined leaves a claim out. */
  claims(changes: Record<string, unknown> = {}): JWTPayload {
    const valid = { iss: this.issuer, aud: AUDIENCE, sub: 'ci', scope: 'plants:write', iat: now(), exp: now() + 300 };
    return { ...valid, ...changes };
  }

  /** Signs these claims. */
  sign(changes?: Record<string, unknown>, header?: Record<string, unknown>, key?: JWK): Promise<string> {
    return signToken(this.claims(changes), header, key);
  }

  /** Stops to listen, and closes all connections. */
  async stop(): Promise<void> {
    const server = this.#server;
    if (server?.listening !== true) return;
    server.close();
    server.closeAllConnections();
    await once(server, 'close');
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { url = '' } = request;
    this.requests.push(url);
    const { status, body, location, resets } = await this.reply(url);
    if (resets === true) {
      request.socket.resetAndDestroy();
    } else if (status === undefined && body === undefined) {
      this.#handle(request, response);
    } else {
      response.writeHead(status ?? 200, location === undefined ? {} : { Location: location }).end(body);
    }
  }
}

/** Signs an access token with a key of the provider. */
export async function signToken(payload: JWTPayload, header: Record<string, unknown> = {}, key = RSA): Promise<string> {
  const { alg = '', kid = '' } = key;
  return new SignJWT(payload)
    .setProtectedHeader({ alg, kid, typ: 'at+jwt', ...header })
    .sign(await importJWK(key, alg));
}

/** Returns the current time in seconds, as in claims. */
export function now(): number {
  return Math.floor(Date.now() / 1_000);
}
