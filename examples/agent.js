/**
 * An agent that corrects itself: the model answers, flinch says which steps it was unsure of, a calculator checks those,
 * and as long as one of them is wrong the model is asked again. Certain steps cost nothing.
 *
 *   node examples/agent.js [URL] [QUESTION]
 */
import { answerOf, answerText, FlinchClient } from 'flinch/client';
import { lastValueFrom } from 'rxjs';
import { fail, readArguments } from './shared.js';

const { url, question } = readArguments();
const ATTEMPTS = 10;
const client = new FlinchClient({ url, apiKey: process.env.FLINCH_API_KEY, patienceMs: 5000 });

/** @type {Record<string, (a: number, b: number) => number>} */
const OPERATIONS = { '+': (a, b) => a + b, '-': (a, b) => a - b, '*': (a, b) => a * b, '/': (a, b) => a / b };

/**
 * The tool: what the equations of a text should come to, where they say something else.
 * @param {string} text
 */
function mistakes(text) {
  return [...text.matchAll(/(\d+) ([-+*/]) (\d+) = (-?\d+)/g)].flatMap(
    ([equation, a, operator = '', b, claimed]) => {
      const right = OPERATIONS[operator]?.(Number(a), Number(b));
      return right === Number(claimed) ? [] : [`${equation} is wrong: it is ${right}`];
    },
  );
}

/** @param {number} seed */
async function ask(seed) {
  const messages = /** @type {const} */ ([{ role: 'user', content: question }]);
  const guard = /** @type {const} */ ({ action: 'annotate', rate: 0.05 });
  const request = { model: 'reasoner', temperature: 1, seed, messages, guard };
  const answer = await lastValueFrom(client.generate(request).pipe(answerOf()));
  if (answer.error) throw answer.error;
  return answer;
}

/** @returns the answer whose doubtful steps all passed; `null` if there was none */
async function answerThatHolds() {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const answer = await ask(attempt);
    console.log(`Attempt ${attempt}: ${answer.steps.length} steps, ${answer.flags.length} of them doubtful`);
    const wrong = answer.flags.flatMap(({ text, risk }) => {
      const found = mistakes(text);
      console.log(`  ⚑ risk ${risk?.toFixed(3)}: ${text.trim()} … ${found.join('; ') || 'checked'}`);
      return found;
    });
    if (wrong.length === 0) return answer;
  }
  return null;
}

try {
  const answer = await answerThatHolds();
  console.log(answer ? `\n${answerText(answer)}` : `No answer held in ${ATTEMPTS} attempts.`);
  process.exitCode = answer ? 0 : 1;
} catch (error) {
  fail(error);
} finally {
  client.close();
}
