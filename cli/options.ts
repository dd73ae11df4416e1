import { InvalidArgumentError, Option } from 'commander';
import { DEVICE_CHOICES, PRECISIONS } from '../src/engine/device.js';
import { reasonerPath } from '../src/package-root.js';
import { METHODS, type Method } from '../src/uncertainty/method-names.js';
import { ModelOption } from './model-option.js';

export const modelOption = (): Option =>
  new ModelOption(
    '--model <path>',
    'checkpoint folder in the Hugging Face layout, GGUF file, or OWNER/NAME of the Hugging Face hub',
  ).default(reasonerPath, 'the embedded reasoner');

export const deviceOption = (): Option =>
  new Option('--device <name>', 'execution device; auto selects the best one available')
    .choices(DEVICE_CHOICES)
    .default('cpu');

export const precisionOption = (): Option =>
  new Option(
    '--precision <name>',
    'numbers that the model writes with, and that Adv. Pert. of streams is computed with (default: int8 for weights in integers on a CPU, else fp32)',
  ).choices(PRECISIONS);

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

/** Bytes, as `800MB` or `4GB`. */
export function parseBytes(text: string): number {
  const [, number, unit] = /^(\d+(?:\.\d+)?) ?(MB|GB)$/i.exec(text.trim()) ?? [];
  if (number === undefined || unit === undefined || Number(number) === 0) {
    throw new InvalidArgumentError('Must be a size such as 800MB or 4GB.');
  }
  return Number(number) * (unit.toUpperCase() === 'GB' ? 1e9 : 1e6);
}

/** An option that may be given several times. */
export function collectText(text: string, before: readonly string[] = []): string[] {
  if (text === '') throw new InvalidArgumentError('Must not be empty.');
  return [...before, text];
}

export function parseMethods(text: string): Method[] {
  const names = new Set(text.split(',').map((name) => name.trim()));
  return [...names].map((name) => {
    const method = METHODS.find((known) => known === name);
    if (!method)
      throw new InvalidArgumentError(`Unknown method "${name}". Supported: ${METHODS.join(', ')}.`);
    return method;
  });
}
