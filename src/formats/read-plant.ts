import { isUtf8 } from 'node:buffer';
import { ContractException } from '../contract/contract.exception.js';
import { isInt64 } from '../plants/dto/is-int64.js';
import { NewPlantPipe } from '../plants/pipes/new-plant.pipe.js';
import type { StoredPlant } from '../storage/plant-repository.js';

/** The plant of a row, or the reason why the row is not a plant. */
export type Reading = StoredPlant | { readonly reason: string };

const pipe = new NewPlantPipe();

/** A JSON string without the escape \u, which could be U+0000 or an unpaired surrogate. */
const TEXT = String.raw`("(?:[^"\\\0-\x1f]|\\["\\/bfnrt])*")`;

/** The most common spelling of a NewPlant. */
const COMMON = new RegExp(String.raw`^\{"id": ?(0|-?[1-9]\d{0,18}), ?"name": ?${TEXT}(?:, ?"tag": ?${TEXT})?\}\r?$`);

/** Maximum length of a line for which the expression is tried, because it takes memory for each character. */
const MAX_COMMON = 65_536;

/** A JSON number (RFC 8259 §6). */
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/**
 * Reads a line of NDJSON as `POST /plants` reads a body.
 *
 * @param line its bytes, each as the character with this code
 */
export function readJson(line: string): Reading {
  const text = decode(line);
  const isTried = text !== undefined && text.length <= MAX_COMMON;
  const [, id, name, tag] = (isTried ? COMMON.exec(text) : null) ?? [];
  if (id !== undefined && name !== undefined) {
    // The pipe takes five times as long, and accepts the same: a property test compares them.
    const plant = { id: BigInt(id), name: parseText(name), tag: tag === undefined ? undefined : parseText(tag) };
    if (isInt64(plant.id)) return plant;
  }
  return readBody(Buffer.from(line, 'latin1'));
}

/**
 * Reads the fields of a row of CSV by the same rules: an id is spelled as in JSON.
 *
 * @param id the bytes of a field, each as the character with this code; so are the others
 */
export function readFields(id: string, name: string, tag: string | undefined): Reading {
  const [nameText, tagText] = [decode(name), tag === undefined ? undefined : decode(tag)];
  if (nameText === undefined || (tag !== undefined && tagText === undefined)) {
    return { reason: 'The row is not UTF-8: write the file in this encoding.' };
  }
  if (/^(?:0|-?[1-9]\d{0,18})$/.test(id) && !nameText.includes('\0') && tagText?.includes('\0') !== true) {
    const plant = { id: BigInt(id), name: nameText, tag: tagText };
    if (isInt64(plant.id)) return plant;
  }
  const idSource = NUMBER.test(id) ? id : 'null';
  const tagMember = tagText === undefined ? '' : `,"tag":${JSON.stringify(tagText)}`;
  return readBody(Buffer.from(`{"id":${idSource},"name":${JSON.stringify(nameText)}${tagMember}}`));
}

function readBody(body: Buffer): Reading {
  try {
    return pipe.transform(body);
  } catch (error) {
    if (error instanceof ContractException) return { reason: error.message };
    throw error;
  }
}

/** Returns undefined for bytes that are not UTF-8. */
function decode(bytes: string): string | undefined {
  if (!/[\x80-\xff]/.test(bytes)) return bytes;
  const buffer = Buffer.from(bytes, 'latin1');
  return isUtf8(buffer) ? buffer.toString('utf8') : undefined;
}

function parseText(literal: string): string {
  return literal.includes('\\') ? (JSON.parse(literal) as string) : literal.slice(1, -1);
}
