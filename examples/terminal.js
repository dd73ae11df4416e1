/**
 * A client for the terminal: shows an answer as it is written, each token coloured by its risk, and what the guard
 * replaced. Ctrl-C ends the answer.
 *
 *   node examples/terminal.js [URL] [QUESTION]
 */
import { answerOf, FlinchClient } from 'flinch/client';
import { finalize, fromEvent, takeUntil, tap } from 'rxjs';
import { paint } from './paint.js';

const [
  url = process.env.FLINCH_URL ?? 'http://127.0.0.1:8787',
  question = 'What is (86 - 38) * 7 - 59 + 24?',
] = process.argv.slice(2);
const client = new FlinchClient({ url, apiKey: process.env.FLINCH_API_KEY, patienceMs: 5000 });

// A terminal cannot take back what it has shown: `held` shows a step once it is settled.
const guard = /** @type {const} */ ({ action: 'rollback', delivery: 'held', rate: 0.05 });
const messages = /** @type {const} */ ([{ role: 'user', content: question }]);
let shown = 0;

client
  .generate({ model: 'reasoner', temperature: 1, seed: 2, messages, guard })
  .pipe(
    answerOf(),
    takeUntil(fromEvent(process, 'SIGINT').pipe(tap(() => (process.exitCode = 130)))),
    finalize(() => client.close()),
  )
  .subscribe({
    next: (answer) => {
      const over = answer.phase === 'done' || answer.phase === 'failed';
      for (const { text, scores, risk } of answer.tokens.slice(shown)) {
        if (scores === null && !over) break; // its score comes with one of the next blocks
        process.stdout.write(paint(text, risk.adversarial));
        shown += 1;
      }
      if (over) report(answer);
    },
    error: (error) => {
      console.error(error.message);
      process.exitCode = 1;
    },
  });

/** @param {import('flinch/client').Answer} answer */
function report({ flags, rollbacks, error }) {
  process.stdout.write('\n');
  for (const { step, risk, text } of flags) {
    const rollback = rollbacks.find((each) => each.step === step);
    const instead = rollback?.outcome === 'replaced' ? rollback.candidates[rollback.chosen ?? 0]?.text : null;
    const deed = instead ? `replaced by: ${instead.trim()}` : 'kept';
    console.log(`⚑ step ${step + 1}, risk ${risk?.toFixed(3)}: ${text.trim()} → ${deed}`);
  }
  if (!error) return;
  console.error(error.message);
  process.exitCode = 1;
}
