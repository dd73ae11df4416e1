/** A question, what every line of its one right answer states, in order, and the answer. */
export interface Draft {
  readonly question: string;
  readonly facts: readonly string[];
  readonly answer: string;
}

export type Operator = '+' | '-' | '*' | '/';

const APPLY: Readonly<Record<Operator, (left: number, right: number) => number>> = {
  '+': (left, right) => left + right,
  '-': (left, right) => left - right,
  '*': (left, right) => left * right,
  '/': (left, right) => left / right,
};

/** The lines of a calculation, one equation each. */
export class Working {
  readonly facts: string[] = [];

  /** @param label what is worked out, where that is not clear: `Ben: 12 + 3 = 15` */
  apply(left: number, operator: Operator, right: number, label?: string): number {
    const result = APPLY[operator](left, right);
    this.facts.push(`${label ? `${label}: ` : ''}${left} ${operator} ${right} = ${result}`);
    return result;
  }

  sum(numbers: readonly number[]): number {
    return numbers.reduce((total, number) => this.apply(total, '+', number));
  }
}

/** `a, b and c` */
export const list = (parts: readonly (string | number)[]): string =>
  parts.length < 2 ? parts.join('') : `${parts.slice(0, -1).join(', ')} and ${parts.at(-1)}`;
