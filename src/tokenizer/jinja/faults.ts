/** Why a template cannot be run. */
class Fault extends Error {
  #isLocated = false;

  /** The same with the line where it happened, the innermost one. */
  at(line: number): this {
    if (!this.#isLocated) this.message = `line ${line}: ${this.message}`;
    this.#isLocated = true;
    return this;
  }
}

/** What Jinja, or Python, refuses as well. */
export class TypeFault extends Fault {}

/** What is Jinja, but is not known here: it is never evaluated otherwise. */
export class Refused extends Fault {
  constructor(what: string) {
    super(`${what} is not supported in chat templates`);
  }
}

/** Adds the line to what `work` throws. */
export function located<T>(line: number, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw error instanceof Fault ? error.at(line) : error;
  }
}
