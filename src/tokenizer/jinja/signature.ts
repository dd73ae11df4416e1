import { numberOf, textOf } from './compare.js';
import { Refused, TypeFault } from './faults.js';
import { type Arguments, isTrue, typeName, type Value } from './values.js';

interface Parameter {
  readonly name: string;
  readonly standard: Value | undefined;
  readonly isRefused: boolean;
}

/**
 * A signature as Python writes it, such as `sep=None, maxsplit=-1`; all of one that ends in `/` are given by place.
 * A parameter behind `!` is not supported.
 */
export class Signature {
  readonly #parameters: readonly Parameter[];
  readonly #byPlace: boolean;

  constructor(written: string) {
    const parts = written.split(', ').filter((part) => part !== '');
    this.#byPlace = parts.at(-1) === '/';
    this.#parameters = parts
      .filter((part) => part !== '/')
      .map((part) => {
        const [written = '', standard] = part.split('=');
        const isRefused = written.startsWith('!');
        const value = isRefused ? null : standard === undefined ? undefined : constantOf(standard);
        return { name: written.replace('!', ''), standard: value, isRefused };
      });
  }

  /** @param of the function, for messages */
  bind(of: string, { positional, named }: Arguments): Bound {
    const all = this.#parameters;
    if (positional.length > all.length) {
      throw new TypeFault(`${of} takes at most ${all.length} arguments (${positional.length} given)`);
    }
    for (const name of named.keys()) {
      const at = all.findIndex((parameter) => parameter.name === name);
      if (at < 0 || this.#byPlace) throw new TypeFault(`${of} takes no argument "${name}"`);
      if (at < positional.length) throw new TypeFault(`${of} has two values for "${name}"`);
    }
    const values = all.map(({ name, standard, isRefused }, i) => {
      if (isRefused && (i < positional.length || named.has(name))) {
        throw new Refused(`the argument "${name}" of "${of}"`);
      }
      const value = i < positional.length ? positional[i] : named.has(name) ? named.get(name) : standard;
      if (value === undefined) throw new TypeFault(`${of} needs the argument "${name}"`);
      return value;
    });
    return new Bound(of, values);
  }
}

function constantOf(written: string): Value {
  if (written === 'None') return null;
  if (written === 'True' || written === 'False') return written === 'True';
  if (/^\d+\.\d+$/.test(written)) return Number(written);
  return /^-?\d+$/.test(written) ? BigInt(written) : written.slice(1, -1);
}

/** The values of a function's parameters, by place. */
export class Bound {
  readonly #of: string;
  readonly #values: readonly Value[];

  constructor(of: string, values: readonly Value[]) {
    this.#of = of;
    this.#values = values;
  }

  value(at: number): Value {
    return this.#values[at] ?? null;
  }

  text(at: number): string {
    const text = textOf(this.value(at));
    if (text === undefined) throw this.#fault(at, 'a str');
    return text;
  }

  textOrNone(at: number): string | null {
    return this.value(at) === null ? null : this.text(at);
  }

  /** A number of characters or items; what is larger than any is cut. */
  int(at: number): number {
    const value = this.value(at);
    const number = typeof value === 'number' ? undefined : numberOf(value);
    if (number === undefined) throw this.#fault(at, 'an int');
    return Math.max(-Number.MAX_SAFE_INTEGER, Math.min(Number.MAX_SAFE_INTEGER, Number(number)));
  }

  intOrNone(at: number): number | null {
    return this.value(at) === null ? null : this.int(at);
  }

  isTrue(at: number): boolean {
    return isTrue(this.value(at));
  }

  #fault(at: number, needed: string): TypeFault {
    return new TypeFault(`${this.#of} needs ${needed}, not '${typeName(this.value(at))}'`);
  }
}
