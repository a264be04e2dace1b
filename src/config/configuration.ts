import 'reflect-metadata';
import { dirname, join } from 'node:path';
import { Transform } from 'class-transformer';
import { IsIn, Matches } from 'class-validator';
import { JWT_TYPES, type JwtType } from '../auth/access-token.js';
import { DEFAULT_SCOPE, isBearerToken, isScope } from '../auth/token-verifier.js';
import { DEFAULT_BODY_LIMIT } from '../plants/resolve-options.js';
import { type DatabaseUrl, readDatabaseUrl, sqliteUrl } from '../storage/database-url.js';
import { DATABASE_DEFAULTS, type DatabaseOptions } from '../storage/engines.js';
import {
  isHost,
  isNetwork,
  isOrigin,
  isUrl,
  List,
  mustBe,
  Passes,
  ReadBy,
  readPortOrOff,
  Size,
  Time,
  WholeNumber,
} from './rules.js';

const SWITCH = ['on', 'off'] as const;
const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace'] as const;
const LOGGED_REQUESTS = ['all', 'failed'] as const;

const HOST = mustBe('a host name or an IP address without a port or zone, for example 0.0.0.0');

/** Matches a path without the segments `.` and `..`, as in /a/../b, which clients resolve before they send a path. */
const BASE_PATH = /^(?:\/(?!\.{1,2}(?:\/|$))[\w.~-]+)*$/;

/**
 * The settings, with their defaults. The variable of `databaseUrl` is DATABASE_URL, and so on; docs/configuration.md
 * has the meanings. Times are in milliseconds, sizes in bytes.
 */
export class Configuration {
  @Passes(isHost, HOST)
  readonly host: string = '127.0.0.1';

  @WholeNumber(0, 65_535, 8080)
  readonly port: number = 3000;

  @Transform(({ value }) => (value as string).replace(/\/$/, ''))
  @Matches(BASE_PATH, mustBe('a path that begins with a slash, for example /v1'))
  readonly basePath: string = '';

  @ReadBy(readDatabaseUrl)
  readonly databaseUrl: DatabaseUrl = sqliteUrl('data/plants.db');

  @Time()
  readonly databaseStartTimeout: number = DATABASE_DEFAULTS.startTimeout;

  @Time()
  readonly storeTimeout: number = DATABASE_DEFAULTS.timeout;

  @List(isBearerToken, 'tokens of letters, digits and -._~+/ separated by commas, for example first-token,second-token')
  readonly accessTokens: readonly string[] = [];

  @Matches(/\S/, mustBe('the path of a file, for example /etc/plants/tokens'))
  readonly accessTokensFile: string | undefined = undefined;

  @Passes(isUrl, mustBe('the https URL that tokens have in iss, for example https://login.example.com'))
  readonly jwtIssuer: string | undefined = undefined;

  @List(
    (text) => /^[^\s"']\S*$/.test(text),
    'the values of aud that stand for this service, without quotation marks, separated by commas, ' +
      'for example https://plants.example.com',
  )
  readonly jwtAudience: readonly string[] | undefined = undefined;

  @Passes(isUrl, mustBe('the https URL of a JWK Set, for example https://login.example.com/jwks'))
  readonly jwtJwksUrl: string | undefined = undefined;

  @IsIn(SWITCH, mustBe(`one of ${SWITCH.join(', ')}, for example on`))
  readonly jwtAllowHttp: (typeof SWITCH)[number] = 'off';

  @IsIn(JWT_TYPES, mustBe(`one of ${JWT_TYPES.join(', ')}, for example at+jwt`))
  readonly jwtType: JwtType = 'JWT';

  @Passes(
    (text: string) => isScope(text) && !text.startsWith("'"),
    mustBe('a scope, without quotation marks and spaces, for example plants:write'),
  )
  readonly requiredScope: string = DEFAULT_SCOPE;

  @Size()
  readonly bodyLimit: number = DEFAULT_BODY_LIMIT;

  @WholeNumber(1, 1_000_000, 20_000)
  readonly maxConnections: number = 2_000;

  @Time()
  readonly requestTimeout: number = 30_000;

  @Time()
  readonly keepAliveTimeout: number = 72_000;

  @Time()
  readonly shutdownTimeout: number = 10_000;

  @IsIn(LOG_LEVELS, mustBe(`one of ${LOG_LEVELS.join(', ')}, for example warn`))
  readonly logLevel: (typeof LOG_LEVELS)[number] = 'info';

  @IsIn(LOGGED_REQUESTS, mustBe(`one of ${LOGGED_REQUESTS.join(', ')}, for example failed`))
  readonly logRequests: (typeof LOGGED_REQUESTS)[number] = 'all';

  @Passes(isHost, HOST)
  readonly managementHost: string = '127.0.0.1';

  @ReadBy(readPortOrOff)
  readonly managementPort: number | 'off' = 3001;

  @Matches(/\S/, mustBe('the path of a file, for example /etc/plants/tls.crt'))
  readonly tlsCertFile: string | undefined = undefined;

  @Matches(/\S/, mustBe('the path of a file, for example /etc/plants/tls.key'))
  readonly tlsKeyFile: string | undefined = undefined;

  @List(
    isNetwork,
    'addresses or networks separated by commas, but not /0, which has all clients, for example 127.0.0.1,10.0.0.0/8',
  )
  readonly trustProxy: readonly string[] = [];

  @List(isOrigin, 'origins without a path, separated by commas, for example https://plants.example')
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
