import { isUtf8 } from 'node:buffer';
import { Injectable, type PipeTransform } from '@nestjs/common';
import { getMetadataStorage, validateSync } from 'class-validator';
import { ContractException } from '../errors/contract.exception.js';
import { NewPlantDto } from './dto/new-plant.dto.js';
import { exactInteger } from './exact-integer.js';
import { visitOutermostMembers } from './outermost-members.js';

/** What JSON.parse makes of the greatest int64. */
const ROUNDED_MAX = 2 ** 63;

/** Makes a NewPlant of a body; what it must be is said by the DTO's decorators alone. */
@Injectable()
export class NewPlantPipe implements PipeTransform<unknown, NewPlantDto> {
  /**
   * @param body its bytes, or what a host's parser has made of them
   * @throws {ContractException} 400 where the bytes are no JSON in UTF-8, or name a field of NewPlant twice,
   *   422 where they are no NewPlant, or the parser has rounded the id
   */
  transform(body: unknown): NewPlantDto {
    const plant = body instanceof Uint8Array ? newPlantIn(body) : newPlantOf(body);
    if (isValid(plant)) return plant;
    const errors = validateSync(plant, { validationError: { target: false, value: false } });
    const messages = errors.flatMap(({ constraints }) => Object.values(constraints ?? {}));
    throw new ContractException(422, `${messages.join('; ')}.`);
  }
}

/**
 * The rules that the DTO's decorators have made, looked up once. class-validator does so for every object, which takes
 * longer than all the rest of the pipe; it is asked where there is something to say.
 */
const RULES = getMetadataStorage()
  .getTargetValidationMetadatas(NewPlantDto, '', true, false)
  .flatMap(({ propertyName, validateIf, constraintCls }) =>
    getMetadataStorage()
      .getTargetValidatorConstraints(constraintCls)
      .map(({ instance }) => ({ property: propertyName as keyof NewPlantDto, validateIf, validator: instance })),
  );

function isValid(plant: NewPlantDto): boolean {
  return RULES.every(({ property, validateIf, validator }) => {
    const value = plant[property];
    return validateIf?.(plant, value) === false || validator.validate(value) === true;
  });
}

/** The fields of NewPlant that these bytes hold, of whatever type they are yet; others are of no concern. */
function newPlantIn(body: Uint8Array): NewPlantDto {
  const text = textIn(body);
  const fields = fieldsOf(parse(text));
  const seen: string[] = [];
  visitOutermostMembers(text, (member, value) => {
    if (!Object.hasOwn(fields, member)) return;
    if (seen.includes(member)) throw new ContractException(400, `The field ${member} is given twice: give it once.`);
    seen.push(member);
    if (member === 'id') fields.id = exactInteger(value) ?? fields.id;
  });
  return Object.assign(new NewPlantDto(), fields);
}

/** The same of what a host's parser has made of the bytes, where nothing tells any more how a number was written. */
function newPlantOf(parsed: unknown): NewPlantDto {
  const fields = fieldsOf(parsed);
  if (Number.isSafeInteger(fields.id)) {
    fields.id = BigInt(fields.id as number);
  } else if (Number.isInteger(fields.id) && Math.abs(fields.id as number) <= ROUNDED_MAX) {
    throw new ContractException(
      422,
      'id has lost digits before it came here: for ids beyond 9007199254740991 the application must turn on ' +
        'rawBody, or use unparsedBody().',
    );
  }
  return Object.assign(new NewPlantDto(), fields);
}

function fieldsOf(parsed: unknown): Record<'id' | 'name' | 'tag', unknown> {
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) throw new ContractException(422);
  const { id, name, tag }: Partial<Record<'id' | 'name' | 'tag', unknown>> = parsed;
  return { id, name, tag };
}

function textIn(body: Uint8Array): string {
  const bytes = Buffer.isBuffer(body) ? body : Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  if (isUtf8(bytes)) return bytes.toString('utf8');
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
