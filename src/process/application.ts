import { createApplication } from '../app.module.js';
import type { StaticTokens } from '../auth/static-tokens.js';
import type { TokenVerifier } from '../auth/token-verifier.js';
import type { Configuration } from '../config/configuration.js';
import type { PublicApplication } from '../http/fastify-adapter.js';
import type { ServiceLogger } from '../logging/service-logger.js';
import type { PlantRepository } from '../storage/plant-repository.js';
import type { CertificateFiles } from './certificate-files.js';

/** What a start opens before the application. */
export interface Parts {
  readonly log: ServiceLogger;
  readonly tokens: StaticTokens;
  readonly certificate: CertificateFiles | undefined;
  readonly repository: PlantRepository;
  /** The origins whose pages may create plants. */
  readonly origins: ReadonlySet<string>;
}

/** Creates the application of the public port with these settings. */
export async function createConfiguredApplication(
  configuration: Configuration,
  { log, tokens, certificate, repository, origins }: Parts,
): Promise<PublicApplication> {
  return createApplication({
    basePath: configuration.basePath,
    plants: {
      repository,
      authentication: { verifier: await createVerifier(configuration, tokens) },
      scope: configuration.requiredScope,
      body: { limit: configuration.bodyLimit },
    },
    http: {
      limits: {
        request: configuration.requestTimeout,
        keepAlive: configuration.keepAliveTimeout,
        connections: configuration.maxConnections,
      },
      trustProxy: configuration.trustProxy,
      origins,
      certificate: certificate?.current,
    },
    logger: log,
  });
}

/** Accepts static tokens and, if an issuer is configured, its JWTs. */
async function createVerifier(configuration: Configuration, tokens: StaticTokens): Promise<TokenVerifier> {
  const { jwtIssuer: issuer, jwtAudience: audience, jwtJwksUrl, jwtType: type, jwtAllowHttp } = configuration;
  if (issuer === undefined || audience === undefined) return tokens;
  const { JwtVerifier } = await import('../auth/jwt-verifier.js');
  const jwksUrl = jwtJwksUrl === undefined ? undefined : new URL(jwtJwksUrl);
  const jwts = new JwtVerifier({ issuer, audience, jwksUrl, type, allowHttp: jwtAllowHttp === 'on' });
  return {
    verify: (token) => tokens.verify(token) ?? jwts.verify(token),
    onModuleInit() {
      tokens.onModuleInit?.();
      jwts.onModuleInit();
    },
    onApplicationShutdown() {
      tokens.onApplicationShutdown?.();
      jwts.onApplicationShutdown();
    },
  };
}
