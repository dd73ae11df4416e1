import type { Suite, SuiteName } from '../suites/suite.js';
import { extractFacts } from '../tasks/facts.js';
import { generateProblems } from '../tasks/generate.js';
import type { Problem } from '../tasks/problem.js';
import { verify } from '../tasks/verify.js';

const known = new Map<string, Problem>();
const tasks: Suite = {
  name: 'tasks',
  async load({ seed, count }) {
    return generateProblems({ seed, count }).map((p, i) => {
      const id = `tasks-${seed + i}`;
      known.set(id, p);
      return { id, subset: p.task, question: p.question, reference: p.answer, given: null };
    });
  },
  messages: ({ question }) => [{ role: 'user', content: question }],
  check: (p, text) => {
    const k = known.get(p.id)!;
    return { extracted: extractFacts(k.task, text).answer, correct: verify(k, text).right };
  },
  locate: (p, text) => verify(known.get(p.id)!, text).span,
};
export function suiteOf(name: SuiteName): Suite {
  if (name === 'tasks') return tasks;
  throw new Error(name);
}
