/**
 * How good a model is: ordinary questions, questions that are no problems, and every family in both styles.
 *
 *     node models/training/evaluate.js MODEL [PROBLEMS_OF_EACH_FAMILY]
 */
import { readFileSync } from 'node:fs';
import { generateProblems } from '#bench/tasks/generate-problems.js';
import { TASKS, UNSEEN_TASKS } from '#bench/tasks/problem.js';
import { IN_WORDS } from '#bench/tasks/solution.js';
import { verify } from '#bench/tasks/verify.js';
import { Engine } from '#src/engine/engine.js';
import { samplingDefaults } from '#src/engine/sampler.js';
import { encodePrompt } from '#src/tokenizer/prompt.js';
import { REFUSAL } from './other-questions.js';

/** Below the seeds that README.md trains on. */
const SEED = 500_000;

const [folder = '', count = '100'] = process.argv.slice(2);
// All answers of a line of the table at once: the engine writes several in one run.
const engine = await Engine.open(folder, { maxStreams: Math.max(100, Number(count)) });

console.log('| questions | style | temperature | right | no wrong step |');
console.log('| --- | --- | --- | --- | --- |');
await table(
  'ordinary',
  'plain',
  [0.2],
  readLines('ordinary.jsonl').map(({ question, answer }) => ({
    question,
    check: (text) => ({ right: text.endsWith(`Answer: ${answer}.`), clean: true }),
  })),
);
await table(
  'other',
  'plain',
  [0.2],
  readLines('other.jsonl').map(({ question }) => ({
    question,
    check: (text) => ({ right: text === REFUSAL, clean: true }),
  })),
);
for (const task of [...TASKS, ...UNSEEN_TASKS]) {
  for (const style of ['plain', 'in words']) {
    const problems = generateProblems({ seed: SEED, count: Number(count), tasks: [task] });
    const cases = problems.map((problem) => ({
      question: style === 'plain' ? problem.question : problem.question + IN_WORDS,
      /** @param {string} text */
      check(text) {
        const { right, span } = verify(problem, text);
        return { right, clean: span === null };
      },
    }));
    await table(task, style, [0.2, 1], cases);
  }
}
await engine.close();

/**
 * @typedef {{ question: string; check: (text: string) => { right: boolean; clean: boolean } }} Case
 * @param {string} name
 * @param {string} style
 * @param {readonly number[]} temperatures
 * @param {readonly Case[]} cases
 */
async function table(name, style, temperatures, cases) {
  for (const temperature of temperatures) {
    const verdicts = await Promise.all(
      cases.map(async ({ question, check }, seed) => check(await answer(question, temperature, seed))),
    );
    const share = (/** @type {'right' | 'clean'} */ field) =>
      (verdicts.filter((verdict) => verdict[field]).length / cases.length).toFixed(2);
    console.log(`| ${name} | ${style} | ${temperature} | ${share('right')} | ${share('clean')} |`);
  }
}

/**
 * @param {string} question
 * @param {number} temperature
 * @param {number} seed
 */
async function answer(question, temperature, seed) {
  const { checkpoint, contextLength } = engine;
  const promptIds = encodePrompt(checkpoint, [{ role: 'user', content: question }]);
  const generation = await engine.generate({
    promptIds,
    maxTokens: contextLength - promptIds.length,
    endIds: checkpoint.eosTokenIds,
    stop: [],
    topLogprobs: 0,
    sampling: { ...samplingDefaults(checkpoint.generation), temperature, seed },
  });
  let text = '';
  for (;;) {
    const item = await generation.next();
    if (item.type === 'end') return text;
    text += item.text;
  }
}

/** @param {string} name */
function readLines(name) {
  const text = readFileSync(new URL(name, import.meta.url), 'utf8');
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
}
