import { CONSTANTS, ExpressionParser } from './expressions.js';
import { TypeFault } from './faults.js';
import type { Scope } from './runtime.js';
import { iterate, Namespace, type Value } from './values.js';

type Target = (scope: Scope, value: Value) => void;

export class TargetParser extends ExpressionParser {
  /** What is assigned to: names, attributes of namespaces, and tuples of these. */
  protected target(ends: () => boolean, hasAttributes: boolean): Target {
    const targets: Target[] = [];
    let isTuple = false;
    do {
      if (targets.length > 0) isTuple = true;
      if (isTuple && ends()) break;
      targets.push(this.#oneTarget(hasAttributes));
    } while (this.accept('operator', ','));
    const [only] = targets;
    if (!isTuple && only) return only;
    return (scope, value) => {
      const values = [...iterate(value)];
      if (values.length !== targets.length) {
        throw new TypeFault(`${targets.length} values are needed, not ${values.length}`);
      }
      targets.forEach((target, i) => {
        target(scope, values[i] ?? null);
      });
    };
  }

  #oneTarget(hasAttributes: boolean): Target {
    if (this.accept('operator', '(')) {
      const target = this.nested(() => this.target(() => this.is('operator', ')'), hasAttributes));
      this.expect('operator', ')');
      return target;
    }
    const name = this.targetName();
    if (!hasAttributes || !this.accept('operator', '.')) return (scope, value) => scope.set(name, value);
    const attribute = this.expect('name').value;
    return (scope, value) => {
      const space = scope.get(name);
      if (!(space instanceof Namespace)) throw new TypeFault('an attribute can be set of a namespace only');
      space.set(attribute, value);
    };
  }

  protected targetName(): string {
    const name = this.expect('name').value;
    if (CONSTANTS.has(name)) throw this.fault(`"${name}" cannot be set`);
    return name;
  }
}
