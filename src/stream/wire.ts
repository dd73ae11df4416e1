import type { Tokenizer } from '../tokenizer/tokenizer.js';
import type { DoneEvent, GuardEvent, ScoreEvent, TokenEvent, TopToken, Verdict } from './events.js';

/** Texts of tokens by their ids; `null` if the vocabulary is unknown: then tokens come with their texts. */
export type Vocabulary = Pick<Tokenizer, 'tokenText' | 'tokenBytes'> | null;

/**
 * Events as JSON carries them (gateway/PROTOCOL.md): `snake_case`, with texts beside ids. Their schemas are in
 * `client/src/schemas.ts`.
 */
export function eventFields(event: GuardEvent, vocabulary: Vocabulary) {
  // Fields of all other events have the same names on the wire, which are single words; the type comes first.
  const { type, ...fields } = event;
  if (event.type === 'token.delta') {
    const { topLogprobs } = event;
    const top = topLogprobs.length > 0 && { top_logprobs: topLogprobFields(topLogprobs, vocabulary) };
    return { type, ...tokenFields(event), ...top };
  }
  if (event.type === 'score.delta') {
    const { index, pass, part } = event;
    return { type, index, ...(part && { part }), pass, ...scoreFields(event, vocabulary) };
  }
  if (event.type === 'text.done' || event.type === 'generation.done') {
    const { finishReason, usage, verdict } = event;
    return {
      type,
      finish_reason: finishReason,
      usage: usageFields(usage),
      ...(verdict && { verdict: verdictFields(verdict) }),
      ...usageByModelFields(event),
    };
  }
  return { type, ...fields };
}

export function tokenFields({ index, part, call, id, text, logprob }: TokenEvent) {
  // Most tokens take this branch: spreading further fields is what costs most.
  if (!part) return { index, id, text, logprob };
  // The joined texts of all tokens are the answer, also for a client that does not know parts.
  return { index, id, text: '', part, part_text: text, ...(call !== undefined && { call }), logprob };
}

export function scoreFields(
  {
    scores,
    skipped,
    reason,
    missing = [],
    pending = [],
    rival,
    risk,
  }: Pick<ScoreEvent, 'scores' | 'skipped' | 'reason' | 'missing' | 'pending' | 'rival' | 'risk'>,
  vocabulary: Vocabulary,
) {
  const rated = risk && Object.keys(risk).length > 0 ? { scores, risk } : { scores };
  if (pending.length > 0) return { ...rated, pending };
  if (skipped.length === 0 && !reason && missing.length === 0 && !rival) return rated;
  return {
    ...rated,
    ...(skipped.length > 0 && { skipped }),
    ...(reason && { reason }),
    ...(missing.length > 0 && { missing }),
    ...(rival && { rival: { ...rival, text: topText(rival, vocabulary) } }),
  };
}

export function usageFields({
  promptTokens,
  cachedTokens,
  completionTokens,
  generatedTokens = 0,
}: DoneEvent['usage']) {
  const known = promptTokens !== null && completionTokens !== null;
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: known ? promptTokens + completionTokens : null,
    ...(cachedTokens !== undefined && { prompt_tokens_details: { cached_tokens: cachedTokens } }),
    ...(generatedTokens > (completionTokens ?? 0) && { generated_tokens: generatedTokens }),
  };
}

/** Usage of all answers of each model, where answers were written in place of the first one. */
export const usageByModelFields = ({ usageByModel }: Pick<DoneEvent, 'usageByModel'>) =>
  usageByModel && {
    usage_by_model: Object.fromEntries(
      Object.entries(usageByModel).map(([model, usage]) => [model, usageFields(usage)]),
    ),
  };

export function verdictFields(verdict: Verdict) {
  const { flagged, risk, rate, flaggedSteps, steps, unscoredTokens, calibrated, reason } = verdict;
  return {
    advice: adviceOf(verdict),
    flagged,
    risk,
    rate,
    flagged_steps: flaggedSteps,
    steps,
    unscored_tokens: unscoredTokens,
    calibrated,
    reason,
  };
}

/** A flagged step is worth a look, also in an answer that is ordinary as a whole. `null`: nothing is known. */
export function adviceOf({ flagged, flaggedSteps }: Pick<Verdict, 'flagged' | 'flaggedSteps'>) {
  if (flagged || flaggedSteps > 0) return 'check' as const;
  return flagged === null ? null : ('ordinary' as const);
}

function topLogprobFields(top: readonly TopToken[], vocabulary: Vocabulary) {
  return top.map((token) => ({ id: token.id, text: topText(token, vocabulary), logprob: token.logprob }));
}

/** Text of a single token, apart from its neighbours. */
export function topText({ id, text }: Pick<TopToken, 'id' | 'text'>, vocabulary: Vocabulary): string {
  return text ?? (id === null ? '' : (vocabulary?.tokenText(id) ?? ''));
}
