import { excessOf as excessWithin, MAX_LEVELS } from '../../src/files/json-bounds.js';

/** All of them are read at once, and nothing else runs meanwhile. */
export const MAX_FIELDS = 4096;

/**
 * Describes what a JSON text has too much of to be parsed, checked and printed while other requests wait; `null` for
 * nothing. Texts and numbers of any size cost little; levels, fields of one object, and lists and objects cost much.
 */
export const excessOf = (json: string, lists = 65_536): string | null =>
  json.length <= 2 * MAX_LEVELS ? null : excessWithin(json, { fields: MAX_FIELDS, lists });
