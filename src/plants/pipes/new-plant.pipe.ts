import { isUtf8 } from 'node:buffer';
import { Injectable, type PipeTransform } from '@nestjs/common';
import { ContractException } from '../../contract/contract.exception.js';
import { FIELD_NAMES } from '../../contract/plant-fields.js';
import type { Place } from '../admission.js';
import { assertFields, type NewPlantDto, type NewPlantFields, toNewPlant } from '../dto/plant.dto.js';
import type { AdmittedBody } from './body.pipe.js';
import { exactInteger, visitTopLevelMembers } from './exact-json.js';

/** The plant of a request, and the request's place in the account of Admission. */
export interface AdmittedPlant {
  readonly plant: NewPlantDto;
  readonly place: Place;
}

/** Turns a body into a valid NewPlant. */
@Injectable()
export class NewPlantPipe implements PipeTransform<AdmittedBody, AdmittedPlant> {
  /** @throws {ContractException} 400 or 422, as `readNewPlant` */
  transform({ body, place }: AdmittedBody): AdmittedPlant {
    return { plant: readNewPlant(body), place };
  }
}

/**
 * Returns the NewPlant of a body.
 *
 * @param body its bytes, or the result of a host's body parser
 * @throws {ContractException} 400 if the bytes are not JSON in UTF-8, or repeat a field of NewPlant; 422 if the body is not
 *   a NewPlant, or the host's parser has rounded the id
 */
export function readNewPlant(body: unknown): NewPlantDto {
  return body instanceof Uint8Array ? parseNewPlant(decodeUtf8(body)) : toNewPlant(certainFields(body));
}

/**
 * Parses the JSON of a NewPlant.
 *
 * @throws {ContractException} 400 if it is not JSON, or repeats a field of NewPlant; 422 if it is not a NewPlant
 */
export function parseNewPlant(text: string): NewPlantDto {
  const parsed = assertFields(parseJson(text));
  const seen: string[] = [];
  visitTopLevelMembers(text, (name, source) => {
    if (!isField(name)) return;
    if (seen.includes(name)) throw new ContractException(400, `The field ${name} is given twice: give it once.`);
    seen.push(name);
    if (name === 'id') parsed.id = exactInteger(source) ?? parsed.id;
  });
  return toNewPlant(parsed);
}

function isField(name: string): boolean {
  return FIELD_NAMES.some((field) => field === name);
}

/** Takes the result of a host's parser as far as it is certain. */
function certainFields(body: unknown): NewPlantFields {
  const parsed = assertFields(body);
  const { id } = parsed;
  if (Number.isSafeInteger(id)) return { ...parsed, id: BigInt(id as number) };
  // Other numbers are not int64, whether rounded or not.
  if (Number.isInteger(id) && Math.abs(id as number) <= 2 ** 63) {
    throw new ContractException(
      422,
      'id was rounded by the JSON parser of the application: for ids beyond 9007199254740991, it must turn on ' +
        'rawBody or use unparsedBody().',
    );
  }
  return parsed;
}

function decodeUtf8(body: Uint8Array): string {
  const bytes = Buffer.isBuffer(body) ? body : Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  if (isUtf8(bytes)) return bytes.toString('utf8');
  throw new ContractException(400, 'The body is not UTF-8: send JSON in this encoding (RFC 8259 §8.1).');
}

function parseJson(text: string): unknown {
  if (text === '') throw new ContractException(400, 'The body is empty: send a NewPlant as JSON.');
  try {
    return JSON.parse(text);
  } catch {
    throw new ContractException(400, 'The body is not JSON: send an object such as {"id":1,"name":"Monstera"}.');
  }
}
