import { ContractException } from '../contract/contract.exception.js';
import { isObject, toNewPlant, type ValidNewPlant } from './dto/plant.dto.js';
import { exactInteger, topLevelMembers } from './exact-json.js';

const FIELDS = ['id', 'name', 'tag'];

/** Refuses invalid UTF-8, and removes a byte order mark, which a client may send (RFC 8259 §8.1). */
const UTF_8 = new TextDecoder('utf-8', { fatal: true });

/**
 * Parses the JSON of a NewPlant.
 *
 * @param json the text, or the bytes of a body
 * @throws {ContractException} 400 if it is not JSON in UTF-8, or repeats a field of NewPlant; 422 if it is not a
 *   NewPlant
 */
export function parseNewPlant(json: string | Uint8Array): ValidNewPlant {
  const text = typeof json === 'string' ? json : decode(json);
  const value = parse(text);
  if (isObject(value)) readExactId(text, value);
  return toNewPlant(value);
}

function decode(bytes: Uint8Array): string {
  try {
    return UTF_8.decode(bytes);
  } catch {
    throw new ContractException(400, 'The body is not UTF-8: send JSON in this encoding (RFC 8259 §8.1).');
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new ContractException(400, 'The body is not JSON: send an object such as {"id":1,"name":"Monstera"}.');
  }
}

/**
 * Replaces the id that JSON.parse has read by its exact value.
 *
 * @throws {ContractException} 400 if the text has a field twice
 */
function readExactId(text: string, parsed: { id?: unknown }): void {
  const seen: string[] = [];
  for (const [name, source] of topLevelMembers(text)) {
    if (!FIELDS.includes(name)) continue;
    if (seen.includes(name)) throw new ContractException(400, `The field ${name} is given twice: give it once.`);
    seen.push(name);
    // Any other id stays as it is: it is not a bigint, so it will be refused, and the message depends on it.
    if (name === 'id') parsed.id = exactInteger(source) ?? parsed.id;
  }
}
