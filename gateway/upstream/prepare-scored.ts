import { randomInt } from 'node:crypto';
import { retracts } from '../../src/guard/guard.js';
import type { Prepared } from '../models/served-model.js';
import type { GenerationFields } from '../requests/generation-request.js';
import { withoutRollbacks } from './scoring/logprob-guard.js';
import type { ScoredResponse } from './scoring/scorer.js';
import type { UpstreamGenerations } from './servers/upstream-generations.js';
import { tells } from './servers/upstream-request.js';
import type { UpstreamServer } from './servers/upstream-server.js';
import type { UpstreamRequest } from './upstream.js';

interface ScoredAsking {
  readonly model: string;
  readonly generations: UpstreamGenerations;
  readonly seed: GenerationFields['seed'];
  readonly client: string;
}

/**
 * A response that a checkpoint of the same weights scores.
 * @throws ApiError 400 where a guard would go on with a text that no server can
 */
export function prepareScored(
  asked: UpstreamRequest,
  scored: ScoredResponse,
  { model, generations, seed: given, client }: ScoredAsking,
): Prepared {
  const { guard, promptIds, prompt, vocabulary, start } = scored;
  const prefix = {
    text: '',
    promptIds: promptIds ?? [],
    ids: [],
    raw: asked.prompt !== undefined,
    ...(prompt !== null && { prompt }),
  };
  const resumes = retracts(guard.action) && !asked.isResponse;
  if (resumes) generations.checkContinues(guard, prefix);
  const suits = (server: UpstreamServer): boolean =>
    tells(server, asked.topLogprobs) &&
    (vocabulary === null || promptIds !== null || server.capabilities?.tokenIds === 'return_token_ids') &&
    (!resumes || server.canContinue(prefix));
  const seed = given ?? randomInt(2 ** 31);
  return {
    model: model,
    vocabulary,
    promptTokens: promptIds?.length ?? null,
    guard: withoutRollbacks(guard, asked),
    start: (gate) =>
      generations.start({ asked, suits, topLogprobs: asked.topLogprobs, client }, (writing) =>
        start({ ...writing, request: asked, seed }, gate),
      ),
  };
}
