import { isRecord } from '../../files/json.js';
import { Refused, TypeFault } from './faults.js';
import { pythonText } from './repr.js';
import { Output, Run, Scope, type Statement } from './runtime.js';
import { Signature } from './signature.js';
import { type Arguments, Dict, Func, Namespace, Range, type Value } from './values.js';

export { parseTemplate } from './statements.js';

/** More than any conversation has messages; a template cannot make a longer list out of a number. */
const MAX_RANGE = 10_000;
const MOST_NESTED = 200;

/** Functions that the program around gives to a template, of one text. */
export type TextFunctions = Readonly<Record<string, (text: string) => string>>;

/**
 * Runs a template as jinja2 does in the environment of transformers' `apply_chat_template`.
 *
 * @param variables values of JSON; what is undefined is left out
 * @param limitMs that it may take
 * @throws TextLimitError, and Fault for what fails or is not supported
 */
export function runTemplate(
  template: Statement,
  variables: Readonly<Record<string, unknown>>,
  functions: TextFunctions,
  limitMs: number,
): string {
  const globals: Func[] = [
    new Func('range', range),
    new Func('dict', (given) => new Dict(namesOf('dict', given))),
    new Func('namespace', namespace),
    ...Object.entries(functions).map(([name, work]) => textFunction(name, work)),
  ];
  const all = new Map<string, Value>(globals.map((each) => [each.name, each]));
  for (const [name, value] of Object.entries(variables))
    if (value !== undefined) all.set(name, fromJson(value));
  const run = new Run(all, limitMs);
  const output = new Output(run);
  template(new Scope(run, null), output);
  return output.text;
}

function textFunction(name: string, work: (text: string) => string): Func {
  const signature = new Signature(name === 'strftime_now' ? 'format' : 'message');
  return new Func(name, (given) => {
    const value = signature.bind(name, given).value(0);
    return work(pythonText(value));
  });
}

function fromJson(value: unknown, depth = 0): Value {
  if (depth > MOST_NESTED) throw new TypeFault(`more than ${MOST_NESTED} lists within lists`);
  if (value === null || typeof value === 'string' || typeof value === 'boolean' || typeof value === 'bigint')
    return value;
  // JSON does not tell 1.0 from 1 here.
  if (typeof value === 'number')
    return Number.isInteger(value) && Math.abs(value) < 1e21 ? BigInt(value) : value;
  if (Array.isArray(value)) return value.map((item) => fromJson(item ?? null, depth + 1));
  if (!isRecord(value)) throw new TypeFault(`a ${typeof value} is not a value of JSON`);
  const entries = Object.entries(value).filter(([, each]) => each !== undefined);
  return new Dict(entries.map(([name, each]) => [name, fromJson(each, depth + 1)] as const));
}

const RANGES = [new Signature('stop, /'), new Signature('start, stop, step=1, /')] as const;

function range(given: Arguments): Range {
  const isShort = given.positional.length < 2;
  const bound = RANGES[isShort ? 0 : 1].bind('range', given);
  const [start, stop, step] = isShort ? [0, bound.int(0), 1] : [bound.int(0), bound.int(1), bound.int(2)];
  if (step === 0) throw new TypeFault('the step of a range is zero');
  const length = Math.max(0, Math.ceil((stop - start) / step));
  if (length > MAX_RANGE) throw new TypeFault(`range(${start}, ${stop}, ${step}) is too long`);
  return new Range(start, step, length);
}

function namesOf(of: string, { positional, named }: Arguments): ReadonlyMap<string, Value> {
  if (positional.length > 0) throw new Refused(`an argument of "${of}" without a name`);
  return named;
}

function namespace(given: Arguments): Namespace {
  const made = new Namespace();
  for (const [name, value] of namesOf('namespace', given)) made.set(name, value);
  return made;
}
