import { type Answer, answerText, type FlinchToken, type Message, type WholeFlinch } from 'flinch-client';
import type { KeptTurn } from './chat-store.js';
import { answerIn, type Recording } from './recording.js';

/**
 * A chat as a file: each answer with the messages before it, as `flinch bench run --questions` reads them. `flinch` is
 * the field of a completion.
 */
export function chatJson(turns: readonly KeptTurn[]): string {
  const messages: Message[] = [];
  const rows: object[] = [];
  for (const { shown, variants } of turns) {
    for (const variant of variants) rows.push(rowOf(variant, rows.length + 1, messages));
    const told = variants[shown] ?? variants[0];
    const answer = told && answerIn(told);
    if (answer?.phase !== 'done') continue;
    messages.push(
      { role: 'user', content: told!.question },
      { role: 'assistant', content: answerText(answer) },
    );
  }
  return `${JSON.stringify(rows, null, 1)}\n`;
}

function rowOf(recording: Recording, id: number, before: readonly Message[]): object {
  const answer = answerIn(recording);
  const { model, finishReason, error } = answer;
  return {
    id,
    model: model ?? recording.model,
    messages: [...before, { role: 'user', content: recording.question }],
    response: answerText(answer),
    finish_reason: finishReason,
    ...(error && { error: { code: error.code, message: error.message } }),
    flinch: flinchOf(answer),
  };
}

function flinchOf({
  guard,
  tokens,
  steps,
  flags,
  rollbacks,
  mismatch,
  verdict,
}: Answer): Partial<WholeFlinch> {
  return {
    ...(guard && { guard }),
    tokens: tokens.map(
      ({ partText, topLogprobs, scores, rival, skipped, pending, ...token }): FlinchToken => ({
        ...token,
        skipped: [...skipped],
        pending: [...pending],
        ...(partText !== undefined && { part_text: partText }),
        ...(scores && { scores }),
        ...(rival && { rival }),
      }),
    ),
    steps: steps.map((step) => ({ type: 'step.done', ...step })),
    flagged: flags.map((flag) => ({ type: 'step.flagged', ...flag })),
    rollbacks: rollbacks.flatMap(({ outcome, chosen, ...rollback }) =>
      outcome === null || chosen === null ? [] : [{ type: 'rollback.done', outcome, chosen, ...rollback }],
    ),
    ...(mismatch && { mismatches: [{ type: 'scorer.mismatch', ...mismatch }] }),
    ...(verdict && { verdict }),
  };
}
