import { type Environment, Interpreter } from '@huggingface/jinja';
import { TextLimitError } from '../files/errors.js';
import type { TemplateValue } from './python-text.js';

/** The package's declarations lead to no types for Node. */
export interface Evaluator {
  evaluate(statement: unknown, environment: object): TemplateValue;
  evaluateBlock(statements: readonly unknown[], environment: object): TemplateValue;
  applyFilter(operand: TemplateValue, filter: unknown, environment: object): TemplateValue;
  run(program: unknown): TemplateValue;
}

const Library: new (environment: Environment) => Evaluator = Object(Interpreter);

/**
 * Characters that a template may make of nothing. Templates with instructions for tools write some thousand
 * characters.
 */
const FREE_CHARACTERS = 2 ** 18;
/** Characters that a template may make of each character that it is given. */
const GROWTH = 16;

/** Runs a chat template until a time, and as long as none of its values becomes too large. */
export class BoundedInterpreter extends Library {
  readonly #limitMs: number;
  readonly #endsAt: number;
  readonly #most: number;
  readonly #sizes = new WeakMap<TemplateValue, number>();

  /** @param limitMs what it may take */
  constructor(environment: Environment, limitMs: number) {
    super(environment);
    this.#limitMs = limitMs;
    this.#endsAt = performance.now() + limitMs;
    let given = 0;
    for (const value of environment.variables.values()) given += this.#size(value);
    this.#most = FREE_CHARACTERS + GROWTH * given;
  }

  /** @throws TextLimitError */
  override evaluate(statement: unknown, environment: object): TemplateValue {
    if (performance.now() > this.#endsAt) {
      throw new TextLimitError(`the chat template takes more than ${this.#limitMs} ms`);
    }
    const value = super.evaluate(statement, environment);
    if (this.#size(value) > this.#most) {
      throw new TextLimitError(`the chat template makes more than ${this.#most} characters of its input`);
    }
    return value;
  }

  /**
   * Size in characters, at least one for each value within; lists that hold a list many times count it as
   * often.
   */
  #size(value: TemplateValue): number {
    if (value.type === 'StringValue') return String(value.value).length;
    if (!Array.isArray(value.value) && !(value.value instanceof Map)) return 1;
    const known = this.#sizes.get(value);
    if (known !== undefined) return known;
    this.#sizes.set(value, 1); // one that holds itself
    let size = 1;
    for (const part of value.value.values()) size += this.#size(part);
    this.#sizes.set(value, size);
    return size;
  }
}
