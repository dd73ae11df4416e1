import { fileURLToPath } from 'node:url';
import { InvalidArgumentError, Option } from 'commander';
import { METHODS, type Method } from '../uncertainty/method.js';

/** The model that comes with flinch. */
export const EMBEDDED_MODEL = fileURLToPath(new URL('../../../models/reasoner', import.meta.url));

export const modelOption = (): Option =>
  new Option('--model <folder>', 'checkpoint in the Hugging Face layout').default(
    EMBEDDED_MODEL,
    'the embedded reasoner',
  );

function numberBetween(low: number, high: number, whole: boolean) {
  return (text: string): number => {
    const value = Number(text);
    if (text.trim() === '' || !(value >= low && value <= high) || (whole && !Number.isInteger(value))) {
      const kind = whole ? 'a whole number' : 'a number';
      throw new InvalidArgumentError(`Must be ${kind} from ${low} to ${high}.`);
    }
    return value;
  };
}

export const integer = (low: number, high: number) => numberBetween(low, high, true);
export const real = (low: number, high: number) => numberBetween(low, high, false);

/** α of the adversary: above 0, since nothing moves at 0. */
export function parseAlpha(text: string): number {
  const value = real(0, 1)(text);
  if (value === 0) throw new InvalidArgumentError('Must be above 0.');
  return value;
}

export function parseWindow(text: string): number | 'all' {
  return text === 'all' ? 'all' : integer(1, 65536)(text);
}

export function parseMethods(text: string): Method[] {
  const names = text.split(',').map((name) => name.trim());
  return names.map((name) => {
    const method = METHODS.find((known) => known === name);
    if (!method) throw new InvalidArgumentError(`"${name}" is not one of ${METHODS.join(', ')}.`);
    return method;
  });
}
