import { called } from './expressions.js';
import { located, Refused } from './faults.js';
import { tokenize } from './lexer.js';
import { Loop } from './loop.js';
import { macroOf, type Parameter, textOf } from './macro.js';
import { pythonText } from './repr.js';
import type { Expression, Scope, Statement } from './runtime.js';
import { TargetParser } from './targets.js';
import { isTrue, iterate, Lazy, type Value } from './values.js';

/** @throws SyntaxError, or Refused for a tag that is not known here */
export function parseTemplate(source: string): Statement {
  return new StatementParser(tokenize(source)).template();
}

class StatementParser extends TargetParser {
  #loops = 0;

  template(): Statement {
    const body = this.#block([]);
    this.expect('eof');
    return body;
  }

  /** Statements up to one of the tags, whose name is then the current token. */
  #block(ends: readonly string[]): Statement {
    const statements: Statement[] = [];
    for (;;) {
      const { type, value } = this.current;
      if (type === 'eof') {
        if (ends.length > 0) throw this.fault(`{% ${ends.at(-1)} %} is missing`);
        break;
      }
      this.next();
      if (type === 'text') statements.push(write(value));
      else if (type === 'print') statements.push(this.#located(() => this.#printed()));
      else if (this.is('name', ...ends) && ends.length > 0) break;
      else {
        statements.push(this.#located(() => this.nested(() => this.#statement())));
        this.expect('close');
      }
    }
    return (scope, output) => {
      for (const statement of statements) {
        const end = statement(scope, output);
        if (end !== undefined) return end;
      }
      return undefined;
    };
  }

  /** The body of a tag, up to its end, which is read. */
  #body(...ends: readonly string[]): Statement {
    this.accept('operator', ':');
    this.expect('close');
    return this.#block(ends);
  }

  #bodyUntil(end: string): Statement {
    const body = this.#body(end);
    this.next();
    return body;
  }

  #printed(): Statement {
    const value = this.sequence();
    this.expect('end');
    return (scope, output) => {
      output.write(pythonText(value(scope)));
      return undefined;
    };
  }

  /** Errors of what is read, and later of what it does, name the line. */
  #located(read: () => Statement): Statement {
    const { line } = this.current;
    const statement = located(line, read);
    return (scope, output) => located(line, () => statement(scope, output));
  }

  #statement(): Statement {
    const { value: tag } = this.expect('name');
    switch (tag) {
      case 'if':
        return this.#if();
      case 'for':
        return this.#for();
      case 'set':
        return this.#set();
      case 'macro':
        return this.#macro();
      case 'call':
        return this.#call();
      case 'generation':
        return this.#scoped(this.#outsideLoops(() => this.#bodyUntil('endgeneration')));
      case 'break':
      case 'continue':
        if (this.#loops === 0) throw this.fault(`{% ${tag} %} is outside of a loop`);
        return () => tag;
      default:
        throw new Refused(`{% ${tag} %}`);
    }
  }

  #if(): Statement {
    const branches: (readonly [Expression, Statement])[] = [];
    let otherwise: Statement | undefined;
    do {
      const condition = this.sequence(undefined, false);
      branches.push([condition, this.#body('elif', 'else', 'endif')]);
    } while (this.accept('name', 'elif'));
    if (this.accept('name', 'else')) otherwise = this.#bodyUntil('endif');
    else this.next();
    return (scope, output) => {
      for (const [condition, body] of branches) if (isTrue(condition(scope))) return body(scope, output);
      return otherwise?.(scope, output);
    };
  }

  #for(): Statement {
    const target = this.target(() => this.is('name', 'in'), false);
    this.expect('name', 'in');
    const values = this.sequence(() => this.is('name', 'recursive'), false);
    const condition = this.accept('name', 'if') ? this.expression() : undefined;
    if (this.is('name', 'recursive')) throw new Refused('a recursive loop');
    this.#loops++;
    const body = this.#body('endfor', 'else');
    this.#loops--;
    const otherwise = this.accept('name', 'else') ? this.#bodyUntil('endfor') : undefined;
    if (otherwise === undefined) this.next();

    const chosen = (scope: Scope, items: Value): Value => {
      if (condition === undefined) return items;
      const all = iterate(items);
      return new Lazy(
        (function* (): Generator<Value> {
          for (const item of all) {
            const inner = scope.inner();
            target(inner, item);
            if (isTrue(condition(inner))) yield item;
          }
        })(),
      );
    };
    return (scope, output) => {
      const loop = new Loop(chosen(scope, values(scope)));
      let hasTurn = false;
      for (let item = loop.next(); item !== undefined; item = loop.next()) {
        scope.run.tick();
        const turn = scope.inner();
        turn.set('loop', loop);
        target(turn, item);
        const end = body(turn, output);
        if (end === 'break') break;
        // In Jinja, a turn that `continue` ends does not count.
        if (end === undefined) hasTurn = true;
      }
      return hasTurn ? undefined : otherwise?.(scope.inner(), output);
    };
  }

  #set(): Statement {
    const target = this.target(() => this.is('operator', '='), true);
    if (this.accept('operator', '=')) {
      const value = this.sequence();
      return (scope) => {
        target(scope, value(scope));
        return undefined;
      };
    }
    if (this.is('operator', '|')) throw new Refused('a filter of {% set %}');
    const body = this.#outsideLoops(() => this.#bodyUntil('endset'));
    return (scope) => {
      target(scope, textOf(body, scope));
      return undefined;
    };
  }

  #scoped(body: Statement): Statement {
    return (scope, output) => body(scope.inner(), output);
  }

  /** `break` and `continue` do not leave what makes a text of its own. */
  #outsideLoops<T>(read: () => T): T {
    const loops = this.#loops;
    this.#loops = 0;
    const value = read();
    this.#loops = loops;
    return value;
  }

  #macro(): Statement {
    const name = this.targetName();
    const parameters = this.#parameters();
    const outer = this.readsCaller;
    this.readsCaller = false;
    const body = this.#outsideLoops(() => this.#bodyUntil('endmacro'));
    const macro = { name, parameters, hasCaller: this.readsCaller, body };
    this.readsCaller = outer;
    return (scope) => {
      scope.set(name, macroOf(macro, scope));
      return undefined;
    };
  }

  #call(): Statement {
    if (this.is('operator', '(')) throw new Refused('{% call %} with parameters');
    const callee = this.dottedName();
    const given = this.arguments();
    const body = this.#outsideLoops(() => this.#bodyUntil('endcall'));
    return (scope, output) => {
      const caller = macroOf({ name: 'caller', parameters: [], hasCaller: false, body }, scope);
      const { positional, named } = given(scope);
      const value = called(callee(scope), { positional, named: new Map([...named, ['caller', caller]]) });
      output.write(pythonText(scope.run.checked(value)));
      return undefined;
    };
  }

  #parameters(): readonly Parameter[] {
    const parameters: Parameter[] = [];
    this.expect('operator', '(');
    while (!this.is('operator', ')')) {
      const name = this.targetName();
      if (parameters.some((parameter) => parameter.name === name)) throw this.fault(`"${name}" is repeated`);
      const standard = this.accept('operator', '=') ? this.expression() : undefined;
      if (standard === undefined && parameters.at(-1)?.standard)
        throw this.fault(`"${name}" needs a default`);
      parameters.push({ name, standard });
      if (!this.accept('operator', ',')) break;
    }
    this.expect('operator', ')');
    return parameters;
  }
}

function write(text: string): Statement {
  return (_, output) => {
    output.write(text);
    return undefined;
  };
}
