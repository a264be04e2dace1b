import { isUtf8 } from 'node:buffer';
import { Injectable, type PipeTransform } from '@nestjs/common';
import { validateSync } from 'class-validator';
import { ContractException } from '../errors/contract.exception.js';
import { NewPlantDto } from './dto/new-plant.dto.js';
import { exactInteger } from './exact-integer.js';
import { visitOutermostMembers } from './outermost-members.js';

/** Makes a NewPlant of the bytes of a body; what it must be is said by the DTO's decorators alone. */
@Injectable()
export class NewPlantPipe implements PipeTransform<Uint8Array, NewPlantDto> {
  /**
   * @throws {ContractException} 400 where the bytes are no JSON in UTF-8, or name a field of NewPlant twice,
   *   422 where they are no NewPlant
   */
  transform(body: Uint8Array): NewPlantDto {
    const plant = newPlantIn(body);
    const errors = validateSync(plant, {
      validationError: { target: false, value: false },
    });
    if (errors.length > 0) {
      const messages = errors.flatMap(({ constraints }) => Object.values(constraints ?? {}));
      throw new ContractException(422, `${messages.join('; ')}.`);
    }
    return plant;
  }
}

/** The fields of NewPlant that these bytes hold, of whatever type they are yet; others are of no concern. */
function newPlantIn(body: Uint8Array): NewPlantDto {
  const text = textIn(body);
  const parsed = parse(text);
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) throw new ContractException(422);
  const { id, name, tag } = parsed as Partial<NewPlantDto>;
  const fields = { id, name, tag };
  const seen = new Set<string>();
  visitOutermostMembers(text, (member, value) => {
    if (!Object.hasOwn(fields, member)) return;
    if (seen.has(member)) throw new ContractException(400, `The field ${member} is given twice: give it once.`);
    seen.add(member);
    if (member === 'id') fields.id = exactInteger(value) ?? id;
  });
  return Object.assign(new NewPlantDto(), fields);
}

function textIn(body: Uint8Array): string {
  if (isUtf8(body)) return Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8');
  throw new ContractException(400, 'The body is not UTF-8: JSON is sent in that encoding (RFC 8259 §8.1).');
}

function parse(text: string): unknown {
  if (text === '') throw new ContractException(400, 'The body is empty: send a NewPlant as JSON.');
  try {
    return JSON.parse(text);
  } catch {
    throw new ContractException(400, 'The body is not JSON: send an object such as {"id":1,"name":"Monstera"}.');
  }
}
