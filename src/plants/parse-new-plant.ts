import { isUtf8 } from 'node:buffer';
import { ContractException } from '../contract/contract.exception.js';
import { PLANT_FIELDS } from '../contract/plant-fields.js';
import { assertFields, type NewPlantDto, toNewPlant } from './dto/plant.dto.js';
import { exactInteger, topLevelMembers } from './exact-json.js';

/**
 * Parses the JSON of a NewPlant.
 *
 * @param json the text, or the bytes of a body
 * @throws {ContractException} 400 if it is not JSON in UTF-8, or repeats a field of NewPlant; 422 if it is not a NewPlant
 */
export function parseNewPlant(json: string | Uint8Array): NewPlantDto {
  const text = typeof json === 'string' ? json : decodeUtf8(json);
  const parsed = assertFields(parseJson(text));
  const seen: string[] = [];
  for (const [name, source] of topLevelMembers(text)) {
    if (!Object.hasOwn(PLANT_FIELDS, name)) continue;
    if (seen.includes(name)) throw new ContractException(400, `The field ${name} is given twice: give it once.`);
    seen.push(name);
    // Any other id stays as JSON.parse has read it, because the message of 422 depends on it.
    if (name === 'id') parsed.id = exactInteger(source) ?? parsed.id;
  }
  return toNewPlant(parsed);
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
