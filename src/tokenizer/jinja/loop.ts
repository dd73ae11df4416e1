import { equals } from './compare.js';
import { TypeFault } from './faults.js';
import {
  type Arguments,
  Func,
  iterate,
  Lazy,
  lengthOf,
  orElse,
  Struct,
  Tuple,
  Undefined,
  type Value,
} from './values.js';

/** A loop while it runs, and what `loop` tells of it. It reads one item ahead only if it is asked what follows. */
export class Loop extends Struct {
  readonly #iterator: Iterator<Value>;
  readonly #known: number | undefined;
  #ahead: Value[] = [];
  #index = -1;
  #before: Value | undefined;
  #item: Value | undefined;
  #changed: Tuple | undefined;

  readonly #depth: number;
  readonly #again: ((values: Value) => Value) | null;

  /** @param again what a recursive loop makes of other values */
  constructor(values: Value, depth: number, again: ((values: Value) => Value) | null) {
    super();
    this.#depth = depth;
    this.#again = again;
    this.#iterator = iterate(values)[Symbol.iterator]();
    this.#known = values instanceof Lazy ? undefined : lengthOf(values);
  }

  /** The item of the next turn, undefined after the last one. */
  next(): Value | undefined {
    const item = this.#peek();
    if (item === undefined) return undefined;
    this.#ahead.shift();
    this.#index++;
    [this.#before, this.#item] = [this.#item, item];
    return item;
  }

  #peek(): Value | undefined {
    if (this.#ahead.length === 0) {
      const { done, value } = this.#iterator.next();
      if (!done) this.#ahead.push(value);
    }
    return this.#ahead[0];
  }

  #length(): number {
    if (this.#known !== undefined) return this.#known;
    for (let step = this.#iterator.next(); !step.done; step = this.#iterator.next())
      this.#ahead.push(step.value);
    return this.#index + 1 + this.#ahead.length;
  }

  readonly kind = 'loop';

  attribute(name: string): Value | undefined {
    switch (name) {
      case 'index':
        return BigInt(this.#index + 1);
      case 'index0':
        return BigInt(this.#index);
      case 'first':
        return this.#index === 0;
      case 'last':
        return this.#peek() === undefined;
      case 'length':
        return BigInt(this.#length());
      case 'revindex':
        return BigInt(this.#length() - this.#index);
      case 'revindex0':
        return BigInt(this.#length() - this.#index - 1);
      case 'previtem':
        return orElse(this.#before, () => new Undefined('there is no previous item'));
      case 'nextitem':
        return orElse(this.#peek(), () => new Undefined('there is no next item'));
      case 'depth':
        return BigInt(this.#depth + 1);
      case 'depth0':
        return BigInt(this.#depth);
      case 'cycle':
        return new Func(name, (given) => this.#cycle(given));
      case 'changed':
        return new Func(name, (given) => this.#hasChanged(given));
      default:
        return undefined;
    }
  }

  call({ positional: [values, ...more], named }: Arguments): Value {
    if (this.#again === null) throw new TypeFault('the loop must be "recursive" to be called');
    if (values === undefined || more.length + named.size > 0)
      throw new TypeFault('"loop" takes one argument');
    return this.#again(values);
  }

  #cycle({ positional }: Arguments): Value {
    if (positional.length === 0) throw new TypeFault('no items for cycling given');
    return positional[this.#index % positional.length] ?? null;
  }

  #hasChanged({ positional }: Arguments): boolean {
    const values = new Tuple(positional);
    if (this.#changed && equals(this.#changed, values)) return false;
    this.#changed = values;
    return true;
  }
}
