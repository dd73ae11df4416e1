import type { Engine } from '../../src/engine/engine.js';
import { branchOf, UNSCORED } from '../../src/guard/branch.js';
import { engineBranch, engineWriter } from '../../src/guard/engine-branch.js';
import type { Asked } from '../answers/asked.js';
import type { Guarding, Judge, Prepared, Source } from '../answers/served-model.js';
import { ApiError } from '../errors/api-error.js';
import { checkOwnCompletion, DEFAULT_LENGTH, type Prompt } from '../requests/completion-request.js';
import { stopsOf, textRequest } from '../requests/generation-request.js';
import { checkOwnResponse } from '../requests/response-request.js';
import { lengthOf, promptOf, rawPromptOf, roomAfter } from './request-prompt.js';

/** An answer that an engine writes and scores. */
export function engineSource(asked: Asked, engine: Engine, judge: Judge): Source {
  const { fields, client, response } = asked;
  const prepare = async (guarding: Guarding | null): Promise<Prepared> => {
    if (response) checkOwnResponse(response);
    const { promptIds, unasked } = await promptIn(asked, engine);
    const { maxTokens, warnings } = lengthOf(fields, roomAfter(engine, promptIds), unasked);
    const request = engine.complete({
      client,
      promptIds,
      maxTokens,
      stop: stopsOf(fields),
      topLogprobs: fields.top_logprobs ?? 0,
      sampling: {
        temperature: fields.temperature ?? undefined,
        topK: fields.top_k ?? undefined,
        topP: fields.top_p ?? undefined,
        seed: typeof fields.seed === 'number' ? fields.seed | 0 : undefined,
      },
    });
    return {
      vocabulary: engine.checkpoint.tokenizer,
      promptTokens: promptIds.length,
      warnings,
      seed: request.sampling.seed,
      open: async (judging) =>
        guarding
          ? engineBranch(engine, request, { scoring: guarding.scoring, ...judging })
          : branchOf(engineWriter(request, await engine.generate(request)), UNSCORED, judging),
    };
  };
  return { judge, scoresAll: true, prepare };
}

interface EnginePrompt {
  readonly promptIds: readonly number[];
  /** Maximum tokens of a request without a limit. */
  readonly unasked: number | undefined;
}

/** @throws ApiError 400 */
async function promptIn({ fields, prompt, maxTokens }: Asked, engine: Engine): Promise<EnginePrompt> {
  if (prompt !== undefined) return completionIn(fields, prompt, engine, maxTokens);
  const { ids: promptIds } = await promptOf(engine, textRequest(fields).messages);
  return { promptIds, unasked: maxTokens };
}

async function completionIn(
  fields: Asked['fields'],
  prompt: Prompt,
  engine: Engine,
  maxTokens = DEFAULT_LENGTH,
): Promise<EnginePrompt> {
  checkOwnCompletion(fields);
  const promptIds = await rawPromptOf(engine, prompt);
  if (promptIds) return { promptIds, unasked: Math.min(maxTokens, DEFAULT_LENGTH) };
  const problem =
    "messages: it is unknown which tokens this model's tokenizer puts before a text; send token ids";
  throw new ApiError('unsupported_parameter', problem, 'messages');
}
