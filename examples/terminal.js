/**
 * A client for the terminal: shows an answer as it is written, each token coloured by its risk, and what the guard
 * replaced. Ctrl-C ends the answer.
 *
 *   node examples/terminal.js [URL] [QUESTION]
 */
import { answerOf, FlinchClient } from 'flinch/client';
import { finalize, fromEvent, takeUntil, tap } from 'rxjs';
import { fail, paint, readArguments } from './shared.js';

const { url, question } = readArguments();
const client = new FlinchClient({ url, apiKey: process.env.FLINCH_API_KEY, patienceMs: 5000 });

// A terminal cannot take back what it has shown: `held` shows a step once it is settled.
const guard = /** @type {const} */ ({ action: 'rollback', delivery: 'held', rate: 0.05 });
const messages = /** @type {const} */ ([{ role: 'user', content: question }]);
let shown = 0;

client
  .generate({ model: 'reasoner', temperature: 1, seed: 1, messages, guard })
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
        process.stdout.write(paint(text, risk.nll));
        shown += 1;
      }
      if (over) report(answer);
    },
    error: fail,
  });

/** @param {import('flinch/client').Answer} answer */
function report({ flags, rollbacks, error }) {
  if (shown > 0) process.stdout.write('\n');
  for (const { step, risk, text } of flags) {
    const rollback = rollbacks.find((each) => each.step === step);
    const instead = rollback?.outcome === 'replaced' ? rollback.candidates[rollback.chosen ?? 0]?.text : null;
    const deed = instead ? `replaced by: ${instead.trim()}` : 'kept';
    console.log(`⚑ step ${step + 1}, risk ${risk?.toFixed(3)}: ${text.trim()} → ${deed}`);
  }
  if (error) fail(error);
}
