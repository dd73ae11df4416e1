/**
 * An answer that corrects itself while it is written: where a token is doubtful, the gateway writes the rest of the step
 * again. Each doubt is shown with the token's rival, and what became of the step. Ctrl-C ends the answer.
 *
 *   node examples/self-correction.js [URL] [QUESTION]
 */
import { answerOf, answerText, FlinchClient } from 'flinch/client';
import { finalize, fromEvent, last, takeUntil, tap } from 'rxjs';
import { describeToken, fail, readArguments } from './shared.js';

const { url, question } = readArguments();
const client = new FlinchClient({ url, apiKey: process.env.FLINCH_API_KEY, patienceMs: 5000 });
/** @type {import('flinch/client').GuardRequest} */
const guard = { method: 'adversarial', rate: 0.005, action: 'rollback', act_on: 'spike' };
const messages = /** @type {const} */ ([{ role: 'user', content: question }]);

/** @type {string[]} */
const texts = [];
/** @type {(string | undefined)[]} */
const rivals = [];

client
  .generate({ model: 'reasoner', temperature: 1, seed: 1, messages, guard })
  .pipe(
    tap((event) => {
      if (event.type === 'token.delta') texts[event.index] = event.text;
      if (event.type === 'score.delta') rivals[event.index] = event.rival?.text;
      if (event.type === 'spike.detected' && event.action) {
        const { index, risk } = event;
        console.log(`⚡ ${describeToken(texts[index] ?? '', risk ?? 1, rivals[index])}`);
      }
      if (event.type === 'rollback.done') {
        const [before, after] = [0, event.chosen].map((i) => event.candidates[i]?.text.trim());
        console.log(event.outcome === 'replaced' ? `   ${before} → ${after}` : `   ${before} stays`);
      }
    }),
    answerOf(),
    last(),
    takeUntil(fromEvent(process, 'SIGINT').pipe(tap(() => (process.exitCode = 130)))),
    finalize(() => client.close()),
  )
  .subscribe({
    next: (answer) => (answer.error ? fail(answer.error) : console.log(`\n${answerText(answer)}`)),
    error: fail,
  });
