import type { ServerResponse } from 'node:http';
import { createParamDecorator, type ExecutionContext, Injectable, Logger, type PipeTransform } from '@nestjs/common';
import { nodeRequest } from '../auth/authenticated-request.js';
import { ContractException } from '../contract/contract.exception.js';
import type { NewPlantDto } from './dto/plant.dto.js';
import { parseNewPlant } from './parse-new-plant.js';
import { assertHeaders, bodyIsLost, BodyReader } from './read-body.js';
import { ResolvedOptions } from './resolve-options.js';
import { sentHeaders } from './unparsed-body.js';

/** A request of Express, which is Node's own, or of Fastify, which wraps Node's. */
interface HostRequest {
  /** The route of Express, with its whole path. */
  readonly route?: { readonly path: string };
  /** The route of Fastify, with its whole path. */
  readonly routeOptions?: { readonly url?: string };
}

/** Node's response, or that of Fastify, which wraps it. */
type HostResponse = ServerResponse | { readonly raw: ServerResponse };

/**
 * Passes the context of a request to a pipe. It is inside a function, because a host's global pipes run first, and may
 * copy objects, such as one that trims texts.
 */
export const RequestContext = createParamDecorator((_data: unknown, context: ExecutionContext) => () => context);

/** Reads the body of a request, after the guard and with the exact id, and turns it into a valid NewPlant. */
@Injectable()
export class NewPlantPipe implements PipeTransform<() => ExecutionContext, Promise<NewPlantDto>> {
  readonly #logger = new Logger('PlantStore');
  readonly #bodies: BodyReader;
  #hasLoggedParser = false;

  constructor(private readonly options: ResolvedOptions) {
    this.#bodies = new BodyReader(options.bodyLimit);
  }

  /**
   * @throws {ContractException} if the request has its answer; for the headers; if a parser has read the body; for the
   *   body; for its JSON: in this order
   */
  async transform(getContext: () => ExecutionContext): Promise<NewPlantDto> {
    const http = getContext().switchToHttp();
    const hostRequest = http.getRequest<HostRequest>();
    const request = nodeRequest(hostRequest);
    const response = nodeResponse(http.getResponse<HostResponse>());
    // While a guard waited, a time limit or a host may have answered, and the rest of the body may have been read.
    if (response.headersSent) throw bodyIsLost();
    const headers = sentHeaders(request);
    assertHeaders(request, headers, this.options.bodyLimit);
    if (request.readableDidRead || request.readableEnded) this.#refuseParsed(hostRequest);
    return parseNewPlant(await this.#bodies.read(request, response, headers));
  }

  /**
   * Refuses a body that a parser of the application has read: it may have rounded the id. Logs once what to do.
   *
   * @throws {ContractException} 500 always
   */
  #refuseParsed({ route, routeOptions }: HostRequest): never {
    if (!this.#hasLoggedParser) {
      this.#hasLoggedParser = true;
      const line = `app.use('${route?.path ?? routeOptions?.url}', unparsedBody())`;
      this.#logger.error(
        `A body parser reads plants before PlantsModule, so they get error 500: call ${line} before it`,
      );
    }
    throw new ContractException(500);
  }
}

function nodeResponse(response: HostResponse): ServerResponse {
  return 'raw' in response ? response.raw : response;
}
