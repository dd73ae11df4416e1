import { Refused } from './faults.js';
import { iterate, Lazy, lengthOf, orElse, Struct, Undefined, type Value } from './values.js';

const REFUSED: readonly string[] = ['cycle', 'changed', 'depth', 'depth0', 'revindex', 'revindex0'];

/** A loop while it runs, and what `loop` says of it. It reads one item ahead only if it is asked what follows. */
export class Loop extends Struct {
  readonly kind = 'loop';
  readonly #iterator: Iterator<Value>;
  readonly #known: number | undefined;
  #ahead: Value[] = [];
  #index = -1;
  #before: Value | undefined;
  #item: Value | undefined;

  constructor(values: Value) {
    super();
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
      case 'previtem':
        return orElse(this.#before, () => new Undefined('there is no previous item'));
      case 'nextitem':
        return orElse(this.#peek(), () => new Undefined('there is no next item'));
      default:
        if (REFUSED.includes(name)) throw new Refused(`"loop.${name}"`);
        return undefined;
    }
  }
}
