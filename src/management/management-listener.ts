import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { WITHOUT_SCHEMAS } from '../http/without-schemas.js';
import { AllowedHosts } from './allowed-hosts.js';
import { setUpDocsPage } from './docs-page.js';
import { type ManagedService, ManagementModule } from './management.module.js';
import { Readiness } from './readiness.js';

/** Open connections; the listener closes further ones. */
const MAX_CONNECTIONS = 64;

/** Bounds a connection: its requests, their bodies in bytes, and times in milliseconds. */
const LIMITS = {
  maxRequestsPerSocket: 100,
  bodyLimit: 1_024,
  requestTimeout: 10_000,
  http: { headersTimeout: 10_000 },
  keepAliveTimeout: 72_000,
  // Also ends the connection of a client that does not take its answers.
  connectionTimeout: 80_000,
};

const MISDIRECTED =
  'This listener does not answer this Host: use an IP address, or add the name to MANAGEMENT_ALLOWED_HOSTS';

export interface ManagementOptions {
  readonly host: string;
  readonly port: number;
  /** Names in Host headers that are answered, besides its own, `localhost` and IP addresses. */
  readonly allowedHosts: readonly string[];
}

/**
 * The listener for operators: health, metrics and the docs page. It is a Nest application of its own, so that it has
 * other guards and filters than the public one, and answers until the public one has closed.
 */
export class ManagementListener {
  private constructor(
    private readonly application: NestFastifyApplication,
    private readonly host: string,
    private readonly port: number,
  ) {}

  /** Creates the listener, whose metrics count from now on. */
  static async create(
    service: ManagedService,
    { host, port, allowedHosts }: ManagementOptions,
  ): Promise<ManagementListener> {
    const application = await NestFactory.create<NestFastifyApplication>(
      ManagementModule.register(service),
      new FastifyAdapter({ ...WITHOUT_SCHEMAS, ...LIMITS, forceCloseConnections: true }),
      { abortOnError: false },
    );
    application.getHttpServer().maxConnections = MAX_CONNECTIONS;
    refuseOtherHosts(application, new AllowedHosts([host, ...allowedHosts]));
    return new ManagementListener(application, host, port);
  }

  /**
   * @param baseUrl {base_url} of the public application
   * @returns the origins of the listener as browsers write them: its own address, `localhost`, and the addresses of
   *   loopback if it listens on all addresses
   */
  async listen(baseUrl: string): Promise<readonly string[]> {
    setUpDocsPage(this.application, baseUrl);
    await this.application.listen(this.port, this.host);
    // For port 0, the operating system has chosen one.
    const { port } = new URL(await this.application.getUrl());
    const host = this.host.includes(':') ? `[${this.host}]` : this.host;
    const hosts = /^(?:0\.0\.0\.0|::)$/.test(this.host)
      ? [host, 'localhost', '127.0.0.1', '[::1]']
      : [host, 'localhost'];
    return hosts.map((name) => `http://${name}:${port}`);
  }

  /** Lets `/health/ready` answer 503 from now on. */
  reportShutdown(): void {
    this.application.get(Readiness).isShuttingDown = true;
  }

  close(): Promise<void> {
    return this.application.close();
  }
}

/** A hook, because guards do not act on the docs page. */
function refuseOtherHosts(application: NestFastifyApplication, hosts: AllowedHosts): void {
  application
    .getHttpAdapter()
    .getInstance()
    .addHook('onRequest', (request, reply, done) => {
      if (hosts.allow(request.headers.host)) done();
      else void reply.code(421).send({ statusCode: 421, error: 'Misdirected Request', message: MISDIRECTED });
    });
}
