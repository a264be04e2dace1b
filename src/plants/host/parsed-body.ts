import type { IncomingMessage } from 'node:http';
import { Logger } from '@nestjs/common';
import { ContractException } from '../../contract/contract.exception.js';
import { assertFields, type NewPlantDto, type NewPlantFields, toNewPlant } from '../dto/plant.dto.js';
import { parseNewPlant } from '../parse-new-plant.js';
import { isBodyHidden } from './unparsed-body.js';

/** A request of Express, which is Node's own, or of Fastify, which wraps Node's. */
export interface HostRequest {
  /** The result of the application's body parser. */
  readonly body?: unknown;
  /** The bytes of the body, if the application sets Nest's option `rawBody`. */
  readonly rawBody?: Uint8Array;
  /** The route of Express, with its whole path. */
  readonly route?: { readonly path: string };
  /** The route of Fastify, with its whole path. */
  readonly routeOptions?: { readonly url?: string };
}

/** Returns whether the host has read the body; never true in the service, which has no parser. */
export function isParsed({ body }: HostRequest, request: IncomingMessage): boolean {
  return body !== undefined || request.readableDidRead;
}

/** Turns bodies that a parser of the application has read into plants. */
export class ParsedBodies {
  readonly #logger = new Logger('PlantStore');
  #hasWarned = false;

  /**
   * Returns the plant of the bytes that the application has kept, or of its parser's result. At the first such result, logs
   * how to keep the parsers of the application away from the body.
   *
   * @throws {ContractException} like `parseNewPlant`, and 422 if the parser has rounded the id
   */
  plantOf(hostRequest: HostRequest, request: IncomingMessage): NewPlantDto {
    const { body, rawBody } = hostRequest;
    if (rawBody === undefined) this.#warnOnce(hostRequest, request);
    const given: unknown = rawBody ?? body;
    // The result of some parsers is the bytes.
    return given instanceof Uint8Array ? parseNewPlant(given) : toNewPlant(certainFields(given));
  }

  #warnOnce({ route, routeOptions }: HostRequest, request: IncomingMessage): void {
    if (this.#hasWarned) return;
    this.#hasWarned = true;
    const line = `app.use('${route?.path ?? routeOptions?.url}', unparsedBody())`;
    // Middleware that has hidden the body is registered already, but behind a parser.
    const advice = isBodyHidden(request) ? `move ${line} up` : `add ${line} to main.ts`;
    this.#logger.warn(
      `The application has parsed a plant, so ids beyond 9007199254740991 are refused: ${advice}, before all body parsers`,
    );
  }
}

/**
 * Returns the fields of a parser's result, with an exact id. The result does not show whether a field was repeated, or
 * whether the parser has rounded a fraction of a small id away.
 *
 * @throws {ContractException} 422 if the result is no object, or if the parser has rounded the id
 */
function certainFields(body: unknown): NewPlantFields {
  const parsed = assertFields(body);
  const { id } = parsed;
  if (Number.isSafeInteger(id)) return { ...parsed, id: BigInt(id as number) };
  // Numbers that are larger or have a fraction are not int64, rounded or not.
  if (Number.isInteger(id) && Math.abs(id as number) <= 2 ** 63) {
    throw new ContractException(
      422,
      'id was rounded by the JSON parser of the application: for ids beyond 9007199254740991, it must turn on ' +
        'rawBody or use unparsedBody().',
    );
  }
  return parsed;
}
