import { Injectable, type PipeTransform } from '@nestjs/common';
import type { Place } from '../admission.js';
import { type NewPlantDto, toNewPlant } from '../dto/plant.dto.js';
import { certainFields } from '../host/parsed-body.js';
import { parseNewPlant } from '../parse-new-plant.js';
import type { AdmittedBody } from './body.pipe.js';

/** The plant of a request, and the request's place in the account of Admission. */
export interface AdmittedPlant {
  readonly plant: NewPlantDto;
  readonly place: Place;
}

/** Turns a body into a valid NewPlant. */
@Injectable()
export class NewPlantPipe implements PipeTransform<AdmittedBody, AdmittedPlant> {
  /** @throws {ContractException} 400 or 422, as `parseNewPlant` and `certainFields` */
  transform({ body, place }: AdmittedBody): AdmittedPlant {
    return { plant: body instanceof Uint8Array ? parseNewPlant(body) : toNewPlant(certainFields(body)), place };
  }
}
