import { SettingsError } from 'flinch';
import { z } from 'zod';
import type { Encoders } from '../encoder/encoders.js';
import type { Measure } from './measure.js';
import { type Definition, METHODS } from './measure-methods.js';

/** Names of all methods. */
export const MEASURE_METHODS: readonly string[] = [...METHODS.keys()];

/**
 * Reads `method` or `method:key=value,…`.
 *
 * @example
 * parseMeasure('adversarial:window=64,block=8').name; // 'adversarial:block=8,window=64'
 * @throws SettingsError that names the part that is wrong, and says what there is instead
 */
export function parseMeasure(text: string): Measure {
  const [method = '', ...rest] = text.trim().split(':');
  const definition = METHODS.get(method);
  if (!definition) {
    const known = MEASURE_METHODS.join(', ');
    throw new SettingsError(`measure "${text}"`, `unknown method "${method}" (available: ${known})`);
  }
  const given = rest.length === 0 ? {} : readPairs(text, rest.join(':'), definition);
  const { settings, measure } = read(text, definition, given);
  const name = [method, ...(settings === '' ? [] : [settings])].join(':');
  return { name, ...measure };
}

/**
 * Reads several, with commas between: a part with `=` and without `:` is one more setting of the measure before it. Those
 * that mean the same are one.
 *
 * @example
 * parseMeasures('adversarial:block=8,window=64,nll'); // two
 * @throws SettingsError as {@link parseMeasure}
 */
export function parseMeasures(text: string): Measure[] {
  const names: string[] = [];
  for (const part of text.split(',')) {
    const continues = names.length > 0 && part.includes('=') && !part.includes(':');
    if (continues) names[names.length - 1] += `,${part}`;
    else names.push(part);
  }
  return distinct(names.map(parseMeasure));
}

interface Substitute {
  readonly name: string;
  readonly method: string;
  /** The model without which it takes the method's place. */
  readonly needs: keyof Encoders;
  readonly words: string;
}

/** Light stand-ins for methods that ask other models. */
export const SUBSTITUTES: readonly Substitute[] = [
  { name: 'ccp-rules', method: 'ccp', needs: 'relate', words: 'word rules instead of an inference model' },
  {
    name: 'token_sar-lexical',
    method: 'token_sar',
    needs: 'compare',
    words: 'word overlap instead of a cross-encoder',
  },
  {
    name: 'graph-lexical',
    method: 'graph',
    needs: 'embed',
    words: 'word overlap instead of sentence embeddings',
  },
];

/** The same measures, under another name where the substitute takes a method's place for want of a model. */
export function withSubstitutes(measures: readonly Measure[], encoders: Encoders): Measure[] {
  return distinct(
    measures.map((measure) => {
      const [method = '', ...settings] = measure.name.split(':');
      const substitute = SUBSTITUTES.find((one) => one.method === method);
      if (!substitute || encoders[substitute.needs]) return measure;
      return parseMeasure([substitute.name, ...settings].join(':'));
    }),
  );
}

const distinct = (measures: readonly Measure[]): Measure[] => [
  ...new Map(measures.map((measure) => [measure.name, measure])).values(),
];

function readPairs(text: string, list: string, { keys }: Definition): Record<string, string> {
  const given: Record<string, string> = {};
  for (const part of list.split(',')) {
    const at = part.indexOf('=');
    const [key, value] = at < 0 ? [part.trim(), ''] : [part.slice(0, at).trim(), part.slice(at + 1).trim()];
    const field = `measure "${text}": ${key || part}`;
    if (!keys.includes(key)) {
      const known = keys.length === 0 ? 'the method has no settings' : `available: ${keys.join(', ')}`;
      throw new SettingsError(field, `is not a setting of this method (${known})`);
    }
    if (value === '') throw new SettingsError(field, 'needs a value, as key=value');
    if (Object.hasOwn(given, key)) throw new SettingsError(field, 'is given twice');
    given[key] = value;
  }
  return given;
}

function read(text: string, definition: Definition, given: Record<string, string>) {
  try {
    return definition.read(given);
  } catch (error) {
    if (error instanceof SettingsError) {
      throw new SettingsError(`measure "${text}": ${error.field}`, error.problem);
    }
    if (!(error instanceof z.ZodError)) throw error;
    const [issue] = error.issues;
    throw new SettingsError(`measure "${text}": ${issue?.path.join('.')}`, issue?.message ?? 'is not valid');
  }
}
