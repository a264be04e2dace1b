import { Injectable, type PipeTransform } from '@nestjs/common';
import { Admission, type AdmittedPlant } from '../admission.js';
import type { LazyExchange } from '../host/exchange.js';
import { ParsedBodies } from '../host/parsed-body.js';
import { parseNewPlant } from '../parse-new-plant.js';
import { assertPlantHeaders } from './plant-headers.js';
import { collectBody, takeBody } from './read-body.js';

/** Admits a request, reads its body, and turns it into a valid NewPlant. */
@Injectable()
export class NewPlantPipe implements PipeTransform<LazyExchange, Promise<AdmittedPlant>> {
  readonly #parsedBodies = new ParsedBodies();

  constructor(private readonly admission: Admission) {}

  /** @throws {ContractException} as `assertPlantHeaders`, 503, and as `collectBody` and `parseNewPlant`, in this order */
  async transform(getExchange: LazyExchange): Promise<AdmittedPlant> {
    const exchange = getExchange();
    const { request, response, parsedRequest } = exchange;
    const { bodyLimit } = this.admission;
    const length = assertPlantHeaders(exchange, bodyLimit);
    const place = this.admission.admitClient(response);
    if (parsedRequest !== undefined) return { plant: this.#parsedBodies.plantOf(parsedRequest, request), place };
    const charge = (bytes: number): boolean => this.admission.chargeBody(place, bytes);
    // Most bodies have arrived.
    const body = takeBody(request, length, charge) ?? (await collectBody(request, length ?? bodyLimit, charge));
    return { plant: parseNewPlant(body), place };
  }
}
