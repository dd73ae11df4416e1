import { TypeFault } from './faults.js';
import { Loop } from './loop.js';
import type { Scope } from './runtime.js';
import { type Arguments, Dict, Func, typeName, Undefined, type Value } from './values.js';

/** Adds the arguments of `**`. */
export function addNames(names: Map<string, Value>, more: Value): void {
  if (!(more instanceof Dict)) throw new TypeFault(`"**" needs a dict, not '${typeName(more)}'`);
  for (const [name, value] of more.entries) {
    if (typeof name !== 'string') throw new TypeFault('names of arguments must be str');
    if (names.has(name)) throw new TypeFault(`the argument "${name}" is repeated`);
    names.set(name, value);
  }
}

export function called(callee: Value, given: Arguments, scope: Scope): Value {
  if (callee instanceof Undefined) callee.fail();
  if (callee instanceof Func) return scope.run.checked(callee.call(given));
  if (callee instanceof Loop) return scope.run.checked(callee.call(given));
  throw new TypeFault(`'${typeName(callee)}' object is not callable`);
}
