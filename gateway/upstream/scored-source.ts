import { concatMap, type MonoTypeOperatorFunction } from 'rxjs';
import type { GuardEvent } from '../../src/stream/events.js';
import { UnscoredError } from '../../src/stream/refuse-unscored.js';
import type { Asked } from '../answers/asked.js';
import type { Guarding, Prepared, Source } from '../answers/served-model.js';
import { lengthOf, roomAfter } from '../models/request-prompt.js';
import type { GenerationAgreement } from './alignment/agreement.js';
import { logprobBranch } from './logprob-source.js';
import { scoredBranch } from './scoring/scored-branch.js';
import type { Scorer } from './scoring/scorer.js';
import { scorerInput } from './scoring/scorer-input.js';
import type { Asking } from './servers/asking.js';

const UNVERIFIED =
  'not verified: the upstream returns no log-probabilities, so it is unknown whether the scorer has the same weights';

const UNVERIFIED_PROMPT =
  "not verified: the upstream does not return the ids of the prompt, so it is unknown whether it renders tools, tool messages and response formats as the scorer's template does";

const WAITS =
  "scores arrive only at the end: the upstream returns no token ids, and with the scorer's tokenizer it is unknown when a token is final";

/**
 * An answer that a server writes and a checkpoint of the same weights scores.
 * @param unscored the same answer without the scorer
 */
export function scoredSource(asked: Asked, asking: Asking, scorer: Scorer, unscored: Source): Source {
  return {
    judge: asked.fields.guard.enabled === false ? unscored.judge : scorer.judge,
    lag: asked.refusesUnscored ? 'wait' : 'skip',
    prepare: (guarding) => (guarding ? prepare(asked, asking, scorer, guarding) : unscored.prepare(null)),
  };
}

/** @throws ApiError 400; ModelError where neither side knows the ids of the prompt; UnscoredError */
async function prepare(
  { fields, prompt: raw, response, refusesUnscored, client, maxTokens: unasked }: Asked,
  asking: Asking,
  scorer: Scorer,
  guarding: Guarding,
): Promise<Prepared> {
  const { engine, doubt } = scorer;
  if (refusesUnscored && doubt !== null) throw new UnscoredError(['scorer_mismatch']);
  // Responses have no ids.
  const able = { ...asking.capabilities, ...(response && { tokenIds: 'none' as const }) };
  const input = { fields, ...(raw !== undefined && { prompt: raw }), ...(response && { response }) };
  const { unseen, promptIds, prompt, certain } = await scorerInput(engine, input, able);
  const room = roomAfter(engine, promptIds ?? []);
  const { maxTokens, warnings } = lengthOf(fields, room, unasked);
  const request = { ...asking.request, maxTokens };
  const { tokenizer } = engine.checkpoint;
  const agreement = scorer.compare();
  const { scoring } = guarding;
  const scored = { engine, client, promptIds, prompt, request, scoring, agreement };
  return asking.prepare({
    guarding,
    request,
    vocabulary: unseen === null ? tokenizer : null,
    promptTokens: promptIds?.length ?? null,
    warnings: [
      ...warnings,
      ...(unseen === null ? [] : [unseen]),
      ...(certain || able.tokenIds === 'return_token_ids' ? [] : [UNVERIFIED_PROMPT]),
      ...(able.logprobs === null ? [UNVERIFIED] : []),
      ...(doubt === null ? [] : [doubt]),
      ...(able.tokenIds === 'none' && tokenizer.units === null ? [WAITS] : []),
    ],
    prefix: {
      text: '',
      promptIds: promptIds ?? [],
      ids: [],
      raw: raw !== undefined,
      ...(prompt !== null && { prompt }),
    },
    suits: ({ capabilities }) =>
      unseen !== null || promptIds !== null || capabilities?.tokenIds === 'return_token_ids',
    open: async (ask, judging, signal) =>
      unseen === null
        ? scoredBranch({ ...scored, ask, signal }, judging)
        : logprobBranch(await ask(), { request, room: maxTokens, methods: scoring.methods, signal }, judging),
    told: withMismatches(agreement, refusesUnscored),
  });
}

/** Adds the event of a scorer that does not agree with the server. */
const withMismatches = (
  agreement: GenerationAgreement,
  refusesUnscored: boolean,
): MonoTypeOperatorFunction<GuardEvent> =>
  concatMap((event) => {
    const mismatches = agreement.take();
    if (refusesUnscored && mismatches.length > 0) throw new UnscoredError(['scorer_mismatch']);
    return [...mismatches, event];
  });
