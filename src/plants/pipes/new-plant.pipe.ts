import { Injectable, type PipeTransform } from '@nestjs/common';
import { Admission, type Place } from '../admission.js';
import type { NewPlantDto } from '../dto/plant.dto.js';
import { ParsedBodies } from '../host/parsed-body.js';
import { parseNewPlant } from '../parse-new-plant.js';
import { assertPlantHeaders, contentLength } from './plant-headers.js';
import type { SealedExchange } from './plant-body.decorator.js';
import { collectBody, takeBody } from './read-body.js';

/** The plant of a request, and the request's place in the account of Admission. */
export interface AdmittedPlant {
  readonly plant: NewPlantDto;
  readonly place: Place;
}

/** Admits a request, reads its body, and turns it into a valid NewPlant. */
@Injectable()
export class NewPlantPipe implements PipeTransform<SealedExchange, Promise<AdmittedPlant>> {
  readonly #parsedBodies = new ParsedBodies();

  constructor(private readonly admission: Admission) {}

  /** @throws {ContractException} as `assertPlantHeaders`, 503, and as `collectBody` and `parseNewPlant`, in this order */
  async transform(sealed: SealedExchange): Promise<AdmittedPlant> {
    const exchange = sealed();
    const { request, response, parsed } = exchange;
    const { bodyLimit } = this.admission;
    assertPlantHeaders(exchange, bodyLimit);
    const place = this.admission.admit(response);
    if (parsed !== undefined) return { plant: this.#parsedBodies.toNewPlant(parsed, request), place };
    const length = contentLength(exchange);
    const charge = (bytes: number): boolean => this.admission.chargeBody(place, bytes);
    // Most bodies have arrived.
    const body = takeBody(request, length, charge) ?? (await collectBody(request, length ?? bodyLimit, charge));
    return { plant: parseNewPlant(body), place };
  }
}
