import { ACCESS, sliced } from './attributes.js';
import { Refused, TypeFault } from './faults.js';
import { binary, unary } from './jinja-numbers.js';
import { unescaped } from './lexer.js';
import { joinTexts } from './limits.js';
import { pythonText } from './repr.js';
import type { Expression, Scope } from './runtime.js';
import { COMPARISONS } from './tests.js';
import { TokenReader } from './token-reader.js';
import {
  type Arguments,
  Dict,
  Func,
  isTrue,
  iterate,
  Tuple,
  typeName,
  Undefined,
  type Value,
} from './values.js';

type GivenArguments = (scope: Scope) => Arguments;

export const CONSTANTS: ReadonlyMap<string, Value> = new Map<string, Value>([
  ...(['true', 'True'] as const).map((name) => [name, true] as const),
  ...(['false', 'False'] as const).map((name) => [name, false] as const),
  ...(['none', 'None'] as const).map((name) => [name, null] as const),
]);
/** Names of Jinja that no chat template was seen to use. */
const REFUSED_NAMES: readonly string[] = [
  ...['caller', 'cycler', 'joiner', 'kwargs', 'lipsum', 'self', 'super', 'varargs'],
];

/** Reads expressions, as functions that make their values. The grammar is that of Jinja's own parser. */
export class ExpressionParser extends TokenReader {
  /** Whether `caller` was read: only a macro that reads it can be given it. */
  protected readsCaller = false;

  /** An expression, or a tuple without parentheses. */
  protected sequence(
    ends: () => boolean = () => false,
    hasCondition = true,
    isEmptyAllowed = false,
  ): Expression {
    const items: Expression[] = [];
    let isTuple = false;
    while (!(this.is('end') || this.is('close') || this.is('operator', ')') || ends())) {
      items.push(hasCondition ? this.expression() : this.#or());
      if (!this.accept('operator', ',')) break;
      isTuple = true;
    }
    const [only] = items;
    if (!isTuple && only) return only;
    if (!isTuple && !isEmptyAllowed) throw this.fault(`an expression is missing before ${this.here()}`);
    return (scope) => new Tuple(items.map((item) => item(scope)));
  }

  protected expression(): Expression {
    return this.nested(() => {
      let value = this.#or();
      while (this.accept('name', 'if')) {
        const [yes, condition] = [value, this.#or()];
        const no = this.accept('name', 'else')
          ? this.expression()
          : () => new Undefined('the condition is false, and there is no else');
        value = (scope) => (isTrue(condition(scope)) ? yes(scope) : no(scope));
      }
      return value;
    });
  }

  #or(): Expression {
    return this.#logical('or', () => this.#logical('and', () => this.#not()));
  }

  #logical(word: 'or' | 'and', operand: () => Expression): Expression {
    const first = operand();
    const rest: Expression[] = [];
    while (this.accept('name', word)) rest.push(operand());
    if (rest.length === 0) return first;
    return (scope) => {
      let value = first(scope);
      for (const each of rest) if (isTrue(value) === (word === 'and')) value = each(scope);
      return value;
    };
  }

  #not(): Expression {
    if (!this.accept('name', 'not')) return this.#comparison();
    const value = this.nested(() => this.#not());
    return (scope) => !isTrue(value(scope));
  }

  #comparison(): Expression {
    const first = this.#arithmetic(['+', '-']);
    const rest: (readonly [(a: Value, b: Value) => boolean, Expression])[] = [];
    for (let test = this.#comparator(); test; test = this.#comparator()) {
      rest.push([test, this.#arithmetic(['+', '-'])]);
    }
    if (rest.length === 0) return first;
    return (scope) => {
      let left = first(scope);
      for (const [test, operand] of rest) {
        const right = operand(scope);
        if (!test(left, right)) return false;
        left = right;
      }
      scope.run.tick();
      return true;
    };
  }

  #comparator(): ((a: Value, b: Value) => boolean) | undefined {
    if (this.accept('name', 'in')) return COMPARISONS.in;
    const { following } = this;
    if (this.is('name', 'not') && following?.type === 'name' && following.value === 'in') {
      this.next();
      this.next();
      return COMPARISONS['not in'];
    }
    return this.is('operator', '==', '!=', '<', '<=', '>', '>=') ? COMPARISONS[this.next().value] : undefined;
  }

  /** Sums, of texts joined by `~`, of products. */
  #arithmetic(operators: readonly string[]): Expression {
    const operand = (): Expression => (operators[0] === '+' ? this.#joined() : this.#unary());
    const first = operand();
    const rest: (readonly [string, Expression])[] = [];
    while (this.is('operator', ...operators)) rest.push([this.next().value, operand()]);
    if (this.is('operator', '**')) throw new Refused('the operator "**"');
    if (rest.length === 0) return first;
    return (scope) => {
      let value = first(scope);
      for (const [operator, right] of rest) value = scope.run.checked(binary(operator, value, right(scope)));
      return value;
    };
  }

  #joined(): Expression {
    const product = (): Expression => this.#arithmetic(['*', '/', '//', '%']);
    const parts = [product()];
    while (this.accept('operator', '~')) parts.push(product());
    const [only] = parts;
    if (parts.length === 1 && only) return only;
    return (scope) => scope.run.checked(joinTexts(parts.map((part) => pythonText(part(scope)))));
  }

  #unary(hasFilters = true): Expression {
    let value: Expression;
    if (this.is('operator', '-', '+')) {
      const operator = this.next().value;
      const operand = this.nested(() => this.#unary(false));
      value = (scope) => unary(operator, operand(scope));
    } else value = this.#primary();
    value = this.#postfix(value);
    return hasFilters ? this.#filtered(value) : value;
  }

  #primary(): Expression {
    const token = this.next();
    const { type, value } = token;
    if (type === 'name') return this.#named(value);
    if (type === 'string') {
      let text = unescaped(value.slice(1, -1));
      while (this.is('string')) text += unescaped(this.next().value.slice(1, -1));
      return () => text;
    }
    if (type === 'int' || type === 'float') {
      const number = type === 'int' ? BigInt(value) : Number(value);
      return () => number;
    }
    if (type === 'operator' && value === '(') {
      const inside = this.sequence(undefined, true, true);
      this.expect('operator', ')');
      return inside;
    }
    if (type === 'operator' && value === '[') return this.#list();
    if (type === 'operator' && value === '{') return this.#dict();
    this.back();
    throw this.fault(`unexpected ${this.here()}`);
  }

  #named(name: string): Expression {
    const constant = CONSTANTS.get(name);
    if (constant !== undefined) return () => constant;
    if (name === 'caller') this.readsCaller = true;
    return (scope) => {
      const value = scope.get(name);
      if (value instanceof Undefined && REFUSED_NAMES.includes(name)) throw new Refused(`"${name}"`);
      return value;
    };
  }

  #list(): Expression {
    const items = this.#items(']', () => this.expression());
    return (scope) => scope.run.checked(items.map((item) => item(scope)));
  }

  #dict(): Expression {
    const entries = this.#items('}', () => {
      const key = this.expression();
      this.expect('operator', ':');
      return [key, this.expression()] as const;
    });
    return (scope) => {
      const made = entries.map(([key, value]) => [key(scope), value(scope)] as const);
      return scope.run.checked(new Dict(made));
    };
  }

  #items<T>(end: string, read: () => T): T[] {
    const items: T[] = [];
    while (!this.accept('operator', end)) {
      if (items.length > 0) {
        this.expect('operator', ',');
        if (this.accept('operator', end)) break;
      }
      items.push(read());
    }
    return items;
  }

  #postfix(start: Expression): Expression {
    let value = start;
    while (this.is('operator', '.', '[', '(')) {
      if (this.is('operator', '(')) value = this.#called(value);
      else value = this.accept('operator', '.') ? this.#attribute(value) : this.#subscript(value);
    }
    return value;
  }

  protected dottedName(): Expression {
    let value = this.#named(this.expect('name').value);
    while (this.accept('operator', '.')) value = this.#attribute(value);
    return value;
  }

  #attribute(object: Expression): Expression {
    if (this.is('int')) {
      const place = BigInt(this.next().value);
      return (scope) => ACCESS.item(object(scope), place);
    }
    const name = this.expect('name').value;
    return (scope) => ACCESS.attribute(object(scope), name);
  }

  #subscript(object: Expression): Expression {
    this.expect('operator', '[');
    const nothing: Expression = () => null;
    const part = (): Expression => (this.is('operator', ':', ']', ',') ? nothing : this.expression());
    if (this.is('operator', ']')) throw this.fault('an expression is missing between "[" and "]"');
    const start = part();
    if (this.accept('operator', ':')) {
      const stop = part();
      const step = this.accept('operator', ':') ? part() : nothing;
      this.expect('operator', ']');
      return (scope) => scope.run.checked(sliced(object(scope), start(scope), stop(scope), step(scope)));
    }
    if (this.is('operator', ',')) throw new Refused('a tuple between "[" and "]"');
    this.expect('operator', ']');
    return (scope) => ACCESS.item(object(scope), start(scope));
  }

  #called(callee: Expression): Expression {
    const given = this.arguments();
    return (scope) => scope.run.checked(called(callee(scope), given(scope)));
  }

  protected arguments(): GivenArguments {
    const positional: Expression[] = [];
    const named: (readonly [string, Expression])[] = [];
    let spread: Expression | undefined;
    this.expect('operator', '(');
    while (!this.is('operator', ')')) {
      const { following } = this;
      if (this.is('operator', '**') || (spread && this.is('operator', '*'))) {
        throw new Refused('"**", or a second "*" before an argument');
      }
      if (this.accept('operator', '*')) spread = this.expression();
      else if (this.is('name') && following?.type === 'operator' && following.value === '=') {
        const name = this.next().value;
        if (named.some(([other]) => other === name)) throw this.fault(`the argument "${name}" is repeated`);
        this.next();
        named.push([name, this.expression()]);
      } else {
        if (spread || named.length > 0) throw this.fault('an argument without a name behind others');
        positional.push(this.expression());
      }
      if (!this.accept('operator', ',')) break;
    }
    this.expect('operator', ')');
    return (scope) => ({
      positional: [...positional.map((each) => each(scope)), ...(spread ? iterate(spread(scope)) : [])],
      named: new Map(named.map(([name, value]) => [name, value(scope)])),
    });
  }

  #filtered(start: Expression): Expression {
    let value = start;
    for (;;) {
      if (this.is('operator', '(')) value = this.#called(value);
      else if (this.accept('operator', '|')) {
        const [name, operand] = [this.#dotted(), value];
        const given = this.is('operator', '(') ? this.arguments() : NO_ARGUMENTS;
        value = (scope) => scope.run.filter(name, operand(scope), given(scope));
      } else if (this.accept('name', 'is')) value = this.#test(value);
      else return value;
    }
  }

  #test(value: Expression): Expression {
    const isNegated = this.accept('name', 'not');
    const name = this.#dotted();
    const given = this.#testArguments();
    return (scope) => scope.run.test(name, value(scope), given(scope)) !== isNegated;
  }

  #testArguments(): GivenArguments {
    if (this.is('operator', '(')) return this.arguments();
    const { type, value } = this.current;
    const begins =
      ['name', 'string', 'int', 'float'].includes(type) || (type === 'operator' && '[{'.includes(value));
    if (!begins || this.is('name', 'else', 'or', 'and')) return NO_ARGUMENTS;
    if (this.is('name', 'is')) throw this.fault('tests cannot be chained with "is"');
    const argument = this.#postfix(this.#primary());
    return (scope) => ({ positional: [argument(scope)], named: new Map() });
  }

  #dotted(): string {
    let name = this.expect('name').value;
    while (this.accept('operator', '.')) name += `.${this.expect('name').value}`;
    return name;
  }
}

export function called(callee: Value, given: Arguments): Value {
  if (callee instanceof Undefined) callee.fail();
  if (callee instanceof Func) return callee.call(given);
  throw new TypeFault(`'${typeName(callee)}' object is not callable`);
}

const NO_ARGUMENTS: GivenArguments = () => ({ positional: [], named: new Map() });
