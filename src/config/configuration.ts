import 'reflect-metadata';
import { dirname, join } from 'node:path';
import { JWT_TYPES, type JwtType } from '../auth/access-token.js';
import { DEFAULT_SCOPE, isBearerToken, isScope } from '../auth/token-verifier.js';
import { DEFAULT_BODY_LIMIT } from '../plants/resolve-options.js';
import { type DatabaseUrl, readDatabaseUrl, sqliteUrl } from '../storage/database-url.js';
import { DATABASE_DEFAULTS, type DatabaseOptions } from '../storage/engine.js';
import {
  filePath,
  isHost,
  isNetwork,
  isOrigin,
  isUrl,
  listOf,
  mustBe,
  oneOf,
  portOrOff,
  ReadBy,
  size,
  textOf,
  time,
  wholeNumber,
} from './readers.js';

const SWITCH = ['on', 'off'] as const;
const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace'] as const;
const LOGGED_REQUESTS = ['all', 'failed'] as const;

const host = textOf(isHost, 'a host name or an IP address without a port or zone, for example 0.0.0.0');

/**
 * Reads a path without the segments `.` and `..`, as in /a/../b, which clients resolve before they send a path. A slash
 * at its end is left out.
 */
const basePath = mustBe('a path that begins with a slash, for example /v1', (text) =>
  /^(?:\/(?!\.{1,2}(?:\/|$))[\w.~-]+)*\/?$/.test(text) ? text.replace(/\/$/, '') : undefined,
);

/**
 * The settings, with their defaults. The variable of `databaseUrl` is DATABASE_URL, and so on; docs/configuration.md
 * has the meanings. Times are in milliseconds, sizes in bytes.
 */
export class Configuration {
  @ReadBy(host)
  readonly host: string = '127.0.0.1';

  @ReadBy(wholeNumber(0, 65_535, 8080))
  readonly port: number = 3000;

  @ReadBy(basePath)
  readonly basePath: string = '';

  @ReadBy(readDatabaseUrl)
  readonly databaseUrl: DatabaseUrl = sqliteUrl('data/plants.db');

  @ReadBy(time)
  readonly databaseStartTimeout: number = DATABASE_DEFAULTS.startTimeout;

  @ReadBy(time)
  readonly storeTimeout: number = DATABASE_DEFAULTS.timeout;

  @ReadBy(
    listOf(
      isBearerToken,
      'tokens of letters, digits and -._~+/ separated by commas, for example first-token,second-token',
    ),
  )
  readonly accessTokens: readonly string[] = [];

  @ReadBy(filePath('/etc/plants/tokens'))
  readonly accessTokensFile: string | undefined = undefined;

  @ReadBy(textOf(isUrl, 'the https URL that tokens have in iss, for example https://login.example.com'))
  readonly jwtIssuer: string | undefined = undefined;

  @ReadBy(
    listOf(
      (text) => /^[^\s"']\S*$/.test(text),
      'the values of aud that stand for this service, without quotation marks, separated by commas, ' +
        'for example https://plants.example.com',
    ),
  )
  readonly jwtAudience: readonly string[] | undefined = undefined;

  @ReadBy(textOf(isUrl, 'the https URL of a JWK Set, for example https://login.example.com/jwks'))
  readonly jwtJwksUrl: string | undefined = undefined;

  @ReadBy(oneOf(SWITCH, 'on'))
  readonly jwtAllowHttp: (typeof SWITCH)[number] = 'off';

  @ReadBy(oneOf(JWT_TYPES, 'at+jwt'))
  readonly jwtType: JwtType = 'JWT';

  @ReadBy(
    textOf(
      (text) => isScope(text) && !text.startsWith("'"),
      'a scope, without quotation marks and spaces, for example plants:write',
    ),
  )
  readonly requiredScope: string = DEFAULT_SCOPE;

  @ReadBy(size)
  readonly bodyLimit: number = DEFAULT_BODY_LIMIT;

  @ReadBy(wholeNumber(1, 1_000_000, 20_000))
  readonly maxConnections: number = 2_000;

  @ReadBy(time)
  readonly requestTimeout: number = 30_000;

  @ReadBy(time)
  readonly keepAliveTimeout: number = 72_000;

  @ReadBy(time)
  readonly shutdownTimeout: number = 10_000;

  @ReadBy(oneOf(LOG_LEVELS, 'warn'))
  readonly logLevel: (typeof LOG_LEVELS)[number] = 'info';

  @ReadBy(oneOf(LOGGED_REQUESTS, 'failed'))
  readonly logRequests: (typeof LOGGED_REQUESTS)[number] = 'all';

  @ReadBy(host)
  readonly managementHost: string = '127.0.0.1';

  @ReadBy(portOrOff)
  readonly managementPort: number | 'off' = 3001;

  @ReadBy(filePath('/etc/plants/tls.crt'))
  readonly tlsCertFile: string | undefined = undefined;

  @ReadBy(filePath('/etc/plants/tls.key'))
  readonly tlsKeyFile: string | undefined = undefined;

  @ReadBy(
    listOf(
      isNetwork,
      'addresses or networks separated by commas, but not /0, which has all clients, for example 127.0.0.1,10.0.0.0/8',
    ),
  )
  readonly trustProxy: readonly string[] = [];

  @ReadBy(listOf(isOrigin, 'origins without a path, separated by commas, for example https://plants.example'))
  readonly corsOrigins: readonly string[] = [];

  /**
   * The token file: that of ACCESS_TOKENS_FILE or, if ACCESS_TOKENS is not set either, the one beside the data that the
   * first start creates. With ACCESS_TOKENS alone, there is none.
   */
  get tokenFile(): string | undefined {
    if (this.accessTokensFile !== undefined) return this.accessTokensFile;
    if (this.accessTokens.length > 0) return undefined;
    const data = this.databaseUrl.engine === 'sqlite' ? this.databaseUrl.file : undefined;
    return join(data === undefined ? 'data' : dirname(data), 'tokens');
  }

  /** The settings of a store beside its URL. */
  get store(): Pick<DatabaseOptions, 'timeout' | 'startTimeout'> {
    return { timeout: this.storeTimeout, startTimeout: this.databaseStartTimeout };
  }
}
