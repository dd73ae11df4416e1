import { TypeFault } from './faults.js';
import { type Expression, Output, type Scope, type Statement } from './runtime.js';
import { type Arguments, Dict, Func, orElse, Tuple, Undefined, type Value } from './values.js';

/** A macro as it is written. */
export interface MacroCode {
  readonly name: string;
  readonly parameters: readonly { readonly name: string; readonly standard: Expression | undefined }[];
  readonly body: Statement;
  /** Names that the body reads: only a macro that reads `varargs`, `kwargs` or `caller` can be given these. */
  readonly reads: ReadonlySet<string>;
}

/** @param defined where it is defined, whose variables it reads */
export function macroOf(code: MacroCode, defined: Scope): Func {
  const call = (given: Arguments): Value =>
    defined.run.nested(() => {
      const scope = defined.inner();
      bind(code, given, scope);
      const output = new Output(defined.run);
      code.body(scope, output);
      return output.text;
    });
  return new Func(code.name, call, `<Macro ${code.name === 'caller' ? 'anonymous' : `'${code.name}'`}>`);
}

function bind({ name: macro, parameters, reads }: MacroCode, given: Arguments, scope: Scope): void {
  const named = new Map(given.named);
  const extra = given.positional.slice(parameters.length);
  const isExplicit = parameters.some(({ name }) => name === 'caller');
  parameters.forEach(({ name, standard }, i) => {
    const value = i < given.positional.length ? given.positional[i] : named.get(name);
    if (i >= given.positional.length) named.delete(name);
    const missing = (): Value => new Undefined(`the parameter "${name}" was not provided`);
    scope.set(
      name,
      orElse(value, () => (standard ? standard(scope) : missing())),
    );
  });
  if (reads.has('caller') && !isExplicit) {
    const caller = named.get('caller') ?? null;
    named.delete('caller');
    scope.set('caller', caller ?? new Undefined('no caller is defined'));
  }
  if (reads.has('kwargs')) scope.set('kwargs', new Dict(named));
  else if (named.size > 0)
    throw new TypeFault(`the macro "${macro}" takes no argument "${[...named.keys()][0]}"`);
  if (reads.has('varargs')) scope.set('varargs', new Tuple(extra));
  else if (extra.length > 0) {
    throw new TypeFault(`the macro "${macro}" takes at most ${parameters.length} arguments`);
  }
}
