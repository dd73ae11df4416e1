import { Refused } from './faults.js';
import { type Expression, Output, type Scope, type Statement } from './runtime.js';
import { type Arguments, Func, orElse, Undefined, type Value } from './values.js';

export interface Parameter {
  readonly name: string;
  readonly standard: Expression | undefined;
}

interface Macro {
  readonly name: string;
  readonly parameters: readonly Parameter[];
  /** Whether it reads `caller`. */
  readonly hasCaller: boolean;
  readonly body: Statement;
}

/** @param defined where it is defined, whose variables it reads */
export function macroOf(macro: Macro, defined: Scope): Func {
  const call = (given: Arguments): Value =>
    defined.run.nested(() => {
      const scope = defined.inner();
      bind(macro, given, scope);
      return textOf(macro.body, scope);
    });
  return new Func(macro.name, call);
}

/** What a body writes within a scope of its own. */
export function textOf(body: Statement, scope: Scope): string {
  const output = new Output(scope.run);
  body(scope.inner(), output);
  return output.text;
}

function bind({ name: macro, parameters, hasCaller }: Macro, given: Arguments, scope: Scope): void {
  const { positional } = given;
  const named = new Map(given.named);
  if (positional.length > parameters.length) {
    throw new Refused(`more arguments of the macro "${macro}" than it names`);
  }
  parameters.forEach(({ name, standard }, i) => {
    const value = i < positional.length ? positional[i] : named.get(name);
    if (i >= positional.length) named.delete(name);
    const missing = new Undefined(`the parameter "${name}" was not provided`);
    scope.set(
      name,
      orElse(value, () => (standard ? standard(scope) : missing)),
    );
  });
  const caller = named.get('caller');
  if (hasCaller && caller !== undefined) {
    named.delete('caller');
    scope.set('caller', caller);
  }
  for (const name of named.keys()) throw new Refused(`the argument "${name}" of the macro "${macro}"`);
}
