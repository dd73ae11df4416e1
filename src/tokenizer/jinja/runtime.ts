import { TextLimitError } from '../../files/file-errors.js';
import { TypeFault } from './faults.js';
import { applyFilter } from './filters.js';
import type { Runtime } from './list-filters.js';
import { applyTest } from './tests.js';
import {
  type Arguments,
  Dict,
  isList,
  itemsOf,
  orElse,
  Range,
  Safe,
  Tuple,
  Undefined,
  type Value,
  View,
} from './values.js';

/**
 * Characters that a template may make of nothing. Templates with instructions for tools write some thousand
 * characters.
 */
const FREE_CHARACTERS = 2 ** 18;
/** Characters that a template may make of each character that it is given. */
const GROWTH = 16;
/** Macros within macros; Python allows about as many. */
const MOST_CALLS = 150;
/** Lists within lists; nothing else must look how deep a value is. */
const MOST_NESTED = 200;

/** A template while it runs: until a time, and as long as none of its values becomes too large. */
export class Run implements Runtime {
  readonly #variables: ReadonlyMap<string, Value>;
  readonly #limitMs: number;
  readonly #endsAt: number;
  readonly #most: number;
  readonly #sizes = new WeakMap<object, { readonly size: number; readonly depth: number }>();
  #calls = 0;

  /** @param limitMs what it may take */
  constructor(variables: ReadonlyMap<string, Value>, limitMs: number) {
    this.#variables = variables;
    this.#limitMs = limitMs;
    this.#endsAt = performance.now() + limitMs;
    let given = 0;
    for (const value of variables.values()) given += this.#size(value);
    this.#most = FREE_CHARACTERS + GROWTH * given;
  }

  variable(name: string): Value | undefined {
    return this.#variables.get(name);
  }

  /** @throws TextLimitError */
  tick(): void {
    if (performance.now() > this.#endsAt) {
      throw new TextLimitError(`the chat template takes more than ${this.#limitMs} ms`);
    }
  }

  /** @throws TextLimitError */
  checked(value: Value): Value {
    this.tick();
    this.checkSize(this.#size(value));
    return value;
  }

  /** @throws TextLimitError */
  checkSize(size: number): void {
    if (size > this.#most) {
      throw new TextLimitError(`the chat template makes more than ${this.#most} characters of its input`);
    }
  }

  /** A call of what the template itself defines. */
  nested<T>(call: () => T): T {
    if (this.#calls >= MOST_CALLS) throw new TypeFault(`more than ${MOST_CALLS} calls within calls`);
    this.#calls++;
    try {
      return call();
    } finally {
      this.#calls--;
    }
  }

  filter(name: string, value: Value, given: Arguments): Value {
    return this.checked(applyFilter(name, value, given, this));
  }

  test(name: string, value: Value, given: Arguments): boolean {
    this.tick();
    return applyTest(name, value, given);
  }

  /** Size in characters, at least one for each value within; lists that hold a list many times count it as often. */
  #size(value: Value): number {
    if (typeof value === 'string') return value.length;
    if (typeof value === 'bigint') return BigInt.asIntN(64, value) === value ? 1 : value.toString(16).length;
    if (value instanceof Safe) return value.text.length;
    return typeof value === 'object' && value !== null ? this.#measured(value).size : 1;
  }

  #measured(value: object & Value): { readonly size: number; readonly depth: number } {
    const known = this.#sizes.get(value);
    if (known !== undefined) return known;
    let [size, depth] = [1, 0];
    for (const part of partsOf(value)) {
      size += this.#size(part);
      if (typeof part === 'object' && part !== null) depth = Math.max(depth, 1 + this.#measured(part).depth);
    }
    if (depth > MOST_NESTED) throw new TypeFault(`more than ${MOST_NESTED} lists within lists`);
    const measured = { size, depth };
    this.#sizes.set(value, measured);
    return measured;
  }
}

function partsOf(value: object & Value): readonly Value[] {
  if (value instanceof Dict) return value.entries.flat();
  if (value instanceof View) return [value.dict];
  return isList(value) || value instanceof Tuple || value instanceof Range ? (itemsOf(value) ?? []) : [];
}

/** Variables of a template, a loop's turn, a macro or a block: those outside can be read, and not be set. */
export class Scope {
  readonly run: Run;
  readonly #variables = new Map<string, Value>();
  readonly #outer: Scope | null;

  constructor(run: Run, outer: Scope | null) {
    this.run = run;
    this.#outer = outer;
  }

  inner(): Scope {
    return new Scope(this.run, this);
  }

  set(name: string, value: Value): void {
    this.#variables.set(name, value);
  }

  get(name: string): Value {
    for (let scope: Scope | null = this; scope !== null; scope = scope.#outer) {
      const value = scope.#variables.get(name);
      if (value !== undefined) return value;
    }
    return orElse(this.run.variable(name), () => new Undefined(`"${name}" is undefined`));
  }
}

export class Output {
  readonly #run: Run;
  readonly #parts: string[] = [];
  #length = 0;

  constructor(run: Run) {
    this.#run = run;
  }

  write(text: string): void {
    this.#length += text.length;
    this.#run.checkSize(this.#length);
    this.#parts.push(text);
  }

  get text(): string {
    return this.#parts.join('');
  }
}

export type Expression = (scope: Scope) => Value;

/** Writes its text; `break` and `continue` end the turn of the loop around it. */
export type Statement = (scope: Scope, output: Output) => 'break' | 'continue' | undefined;
