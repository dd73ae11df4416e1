import type { FirstTask, Problem, Task } from '#src/tasks/problem.js';

type Solution = Pick<Problem, 'facts' | 'answer'>;

/** Solves a problem of the first model from its question alone; throws for a sentence that it does not know. */
export function solve({ task, question }: Problem): Solution {
  const solver = (SOLVERS as Partial<Record<Task, (question: string) => Solution>>)[task];
  if (!solver) throw new Error(`no solver: ${task}`);
  return solver(question);
}

const SOLVERS: Readonly<Record<FirstTask, (question: string) => Solution>> = {
  word_problem: solveStory,
  arithmetic: solveExpression,
  shuffled_objects: solveSwaps,
  web_of_lies: solveClaims,
  navigate: solveWalk,
};

class Equations {
  readonly facts: string[] = [];

  apply(left: number, operator: string, right: number): number {
    const result = { '+': left + right, '-': left - right, '*': left * right }[operator];
    if (result === undefined) throw new Error(`no operator: ${operator}`);
    this.facts.push(`${left} ${operator} ${right} = ${result}`);
    return result;
  }
}

const sentences = (question: string): string[] => question.split(/(?<=[.?]) /);

/** The first pattern that matches all of the sentence says what to do. */
function read(sentence: string, rules: readonly (readonly [RegExp, (...groups: string[]) => void])[]): void {
  for (const [pattern, apply] of rules) {
    const match = new RegExp(`^(?:${pattern.source})$`).exec(sentence);
    if (match) {
      apply(...match.slice(1));
      return;
    }
  }
  throw new Error(`not understood: ${sentence}`);
}

function solveStory(question: string): Solution {
  const equations = new Equations();
  let have = Number.NaN;
  const change = (operator: string) => (count: string) => {
    have = equations.apply(have, operator, Number(count));
  };
  for (const sentence of sentences(question)) {
    read(sentence, [
      [/(?:At first )?\w+ (?:has|starts with) (\d+) \w+\./, (count) => (have = Number(count))],
      [/(?:\w+ finds|Then \w+ buys|A friend brings) (\d+) more\./, change('+')],
      [/(?:\w+ loses|Then \w+ sells) (\d+)\./, change('-')],
      [/\w+ gives (\d+) to \w+\./, change('-')],
      [
        /(?:\w+ buys|Then) (\d+) \w+ (?:of|arrive with) (\d+) \w+(?: each)?\./,
        (boxes, each) => change('+')(`${equations.apply(Number(boxes), '*', Number(each))}`),
      ],
      [/Then the number of \w+ doubles\./, () => change('*')('2')],
      [/Then the number of \w+ triples\./, () => change('*')('3')],
      [/How many \w+ (?:does \w+ have now|are there at the end)\?|Find the final number of \w+\./, () => {}],
    ]);
  }
  return { facts: equations.facts, answer: `${have}` };
}

/** Recursive descent, by the usual precedence. */
function solveExpression(question: string): Solution {
  const [, expression] =
    /^(?:Compute (.+)\.|What is (.+)\?|Evaluate (.+) step by step\.)$/.exec(question)?.filter(Boolean) ?? [];
  const rest = expression?.match(/\d+|[-+*()]/g) ?? [];
  const equations = new Equations();
  const chain = (operators: readonly string[], operand: () => number): number => {
    let value = operand();
    while (operators.includes(rest[0] ?? '')) value = equations.apply(value, rest.shift()!, operand());
    return value;
  };
  const atom = (): number => {
    const token = rest.shift();
    if (token !== '(') return Number(token);
    const value = sum();
    if (rest.shift() !== ')') throw new Error(`not understood: ${question}`);
    return value;
  };
  const product = (): number => chain(['*'], atom);
  const sum = (): number => chain(['+', '-'], product);
  const value = sum();
  if (rest.length > 0) throw new Error(`not understood: ${question}`);
  return { facts: equations.facts, answer: `${value}` };
}

function solveSwaps(question: string): Solution {
  const holds = new Map<string, string>();
  const facts: string[] = [];
  const state = (): string => Array.from(holds, (pair) => pair.join(' ')).join(', ');
  let introduced: string[] = [];
  let answer = '';
  const swap = (a: string, b: string): void => {
    if (facts.length === 0) facts.push(state());
    const [ofA, ofB] = [holds.get(a), holds.get(b)];
    if (!ofA || !ofB) throw new Error(`nobody knows ${a} or ${b}`);
    holds.set(a, ofB).set(b, ofA);
    facts.push(state());
  };
  for (const sentence of sentences(question)) {
    read(sentence, [
      [
        /([\w, ]+) each hold a ball\./,
        (names) => {
          introduced = names.split(/, | and /);
        },
      ],
      [/(\w+) has the (\w+) ball\./, (name, color) => holds.set(name, color)],
      [/(?:Then )?(\w+) and (\w+) swap\./, swap],
      [/(\w+) swaps with (\w+)\./, swap],
      [
        /Which ball does (\w+) have at the end\?|What color does (\w+) hold now\?/,
        (first, second) => {
          answer = holds.get(first ?? second) ?? '';
        },
      ],
    ]);
  }
  if (introduced.join() !== [...holds.keys()].join()) throw new Error(`not all hold a ball: ${question}`);
  return { facts, answer };
}

function solveClaims(question: string): Solution {
  const truthful = new Map<string, boolean>();
  let answer = '';
  for (const sentence of sentences(question)) {
    read(sentence, [
      [/(\w+) (tells the truth|lies)\./, (name, claim) => truthful.set(name, claim !== 'lies')],
      [
        /(\w+) says (\w+) (tells the truth|lies)\./,
        (name, other, claim) => truthful.set(name, truthful.get(other) === (claim !== 'lies')),
      ],
      [
        /Does (\w+) tell the truth\?/,
        (name) => {
          answer = truthful.get(name) ? 'Yes' : 'No';
        },
      ],
    ]);
  }
  return { facts: Array.from(truthful, ([name, truth]) => `${name} ${truth ? 'truth' : 'lie'}`), answer };
}

/** Turns a vector, where the generator counts quarters. */
function solveWalk(question: string): Solution {
  let [x, y, dx, dy] = [0, 0, 0, 1];
  const facts: string[] = [];
  const heading = (): string => (dx === 0 ? (dy > 0 ? 'north' : 'south') : dx > 0 ? 'east' : 'west');
  const state = (): void => {
    facts.push(`(${x}, ${y}) ${heading()}`);
  };
  for (const sentence of sentences(question)) {
    read(sentence, [
      [/You stand at \(0, 0\) facing north\.|Where are you\?/, () => {}],
      [
        /(?:Take|Walk|Go) (\d+) steps(?: forward)?\./,
        (steps) => {
          [x, y] = [x + dx * Number(steps), y + dy * Number(steps)];
          state();
        },
      ],
      [
        /Turn (left|right|around)\./,
        (turn) => {
          for (let i = { left: 3, right: 1, around: 2 }[turn] ?? 0; i > 0; i -= 1) [dx, dy] = [dy, -dx];
          state();
        },
      ],
    ]);
  }
  return { facts, answer: `(${x}, ${y})` };
}
