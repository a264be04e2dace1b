import type { INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { WITHOUT_SCHEMAS } from '../http/without-schemas.js';
import { GroupCommit } from '../storage/group-commit.js';
import { PlantRepository } from '../storage/plant-repository.js';
import { setUpDocsPage } from './docs-page.js';
import { ManagementModule } from './management.module.js';
import { Readiness } from './readiness.js';

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

  /**
   * Creates the listener, whose metrics count from now on.
   *
   * @param service the public application
   */
  static async create(service: INestApplicationContext, host: string, port: number): Promise<ManagementListener> {
    const options = { strict: false };
    const application = await NestFactory.create<NestFastifyApplication>(
      ManagementModule.register(service.get(PlantRepository, options), service.get(GroupCommit, options)),
      new FastifyAdapter({ ...WITHOUT_SCHEMAS, forceCloseConnections: true }),
      { abortOnError: false },
    );
    return new ManagementListener(application, host, port);
  }

  /**
   * @param baseUrl {base_url} of the public application
   * @returns the origins of the listener as browsers write them: its own address, and that of `localhost`
   */
  async listen(baseUrl: string): Promise<readonly string[]> {
    setUpDocsPage(this.application, baseUrl);
    await this.application.listen(this.port, this.host);
    // For port 0, the operating system has chosen one.
    const { port } = new URL(await this.application.getUrl());
    const host = this.host.includes(':') ? `[${this.host}]` : this.host;
    return [`http://${host}:${port}`, `http://localhost:${port}`];
  }

  /** Lets `/health/ready` answer 503 from now on. */
  reportShutdown(): void {
    this.application.get(Readiness).isShuttingDown = true;
  }

  close(): Promise<void> {
    return this.application.close();
  }
}
