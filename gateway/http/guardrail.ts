import type { RequestHandler } from 'express';
import type { Principal } from '../access/principal.js';
import type { Models } from '../answers/models.js';
import { ApiError } from '../errors/api-error.js';
import { parse } from '../requests/generation-request.js';
import { type GuardrailRequest, guardrailSchema } from '../requests/guardrail-request.js';
import type { Serving } from '../serving.js';
import { type KeptPrompt, KeptPrompts } from './kept-prompts.js';
import { type ScoredText, scoreText } from './score-text.js';

/** OpenAI's limit of choices. */
const MAX_SCORED = 128;

/** Names of the API for the fields of a generation. */
const NAMES = {
  model: 'additional_provider_specific_params.model',
  messages: 'structured_messages',
  text: 'texts',
  max_tokens: 'texts',
};

/**
 * LiteLLM's generic guardrail API (docs.litellm.ai, "Generic Guardrail API"). Each text of a response is scored as an
 * answer to the messages of its request. A text that is not judged is an error: the guardrail's configuration says what
 * becomes of the response then.
 */
export function guardrail(serving: Serving): RequestHandler {
  const prompts = new KeptPrompts();
  return async (req, res) => {
    const request = parse(guardrailSchema, req.body);
    const { name }: Principal = res.locals.principal;
    const { input_type, litellm_call_id: call, texts } = request;
    if (input_type === 'request') {
      if (call && request.structured_messages) prompts.keep(name, call, request);
      res.json(unscored(request, 'requests are not scored'));
      return;
    }
    const written = (texts ?? []).filter((text) => text !== '');
    if (written.length === 0) {
      res.json(unscored(request, 'the response has no text'));
      return;
    }
    checkNumber(written);
    const model = modelOf(request, serving.models);
    const prompt = request.structured_messages ? request : call ? prompts.find(name, call) : null;
    const { structured_messages: messages, tools } = checkPrompt(prompt);
    const asked = { model, messages, guard: {}, ...(tools?.length && { tools }) };
    const scored: ScoredText[] = [];
    for (const text of written) {
      const each = await scoreText(text, serving, { fields: asked, names: NAMES }, res);
      if (!each) return; // the client has gone away
      scored.push(each);
    }
    res.json({ ...decision(scored), flinch: { ...aboutOf(request), texts: scored } });
  };
}

/** LiteLLM's client sends the key as `x-api-key`. */
export const acceptApiKey: RequestHandler = (req, _res, next) => {
  const key = req.headers['x-api-key'];
  if (typeof key === 'string') req.headers.authorization ??= `Bearer ${key}`;
  next();
};

/** @throws ApiError 503 where a text is not judged and none is blocked */
function decision(scored: readonly ScoredText[]): { action: 'BLOCKED' | 'NONE'; blocked_reason?: string } {
  const blocked = scored.find(({ verdict }) => verdict.flagged);
  if (blocked) return { action: 'BLOCKED', blocked_reason: reasonOf(blocked.verdict) };
  const unjudged = scored.find(({ verdict }) => verdict.flagged === null);
  if (!unjudged) return { action: 'NONE' };
  throw new ApiError('not_judged', `the response is not judged: ${unjudged.verdict.reason}`);
}

/** A rank near 100 % is not rounded up to it. */
const percent = (share: number): string => `${Math.min(100 * share, 99.99).toFixed(2)} %`;

function reasonOf({ risk, rate, flagged_steps, steps }: ScoredText['verdict']): string {
  const rank = risk === null ? '' : ` (rank ${percent(risk)}, flagged from ${percent(1 - rate)})`;
  return `flinch: the model was unsure of its answer${rank}; ${flagged_steps} of ${steps} steps flagged`;
}

const unscored = (request: GuardrailRequest, reason: string) => ({
  action: 'NONE',
  flinch: { ...aboutOf(request), reason, texts: [] },
});

/** Parts of a request that have no scores. */
const aboutOf = (request: GuardrailRequest) => ({
  unscored: (['tool_calls', 'images'] as const).filter((name) => request[name]?.length),
});

function modelOf({ additional_provider_specific_params: params }: GuardrailRequest, { all }: Models) {
  const [only, ...others] = all;
  const model = params?.model ?? (others.length === 0 ? only?.name : undefined);
  if (model !== undefined) return model;
  const names = all.map(({ name }) => name).join(', ');
  throw new ApiError('invalid_value', `${NAMES.model}: required, one of ${names}`, NAMES.model);
}

/** @throws ApiError 400: each is as much work as a request */
function checkNumber({ length }: readonly string[]): void {
  if (length <= MAX_SCORED) return;
  throw new ApiError('invalid_value', `texts: at most ${MAX_SCORED} are scored`, 'texts');
}

function checkPrompt(prompt: KeptPrompt | null) {
  const { structured_messages, tools } = prompt ?? {};
  if (structured_messages) return { structured_messages, tools };
  const text =
    'structured_messages: required; what the response answers is not known, unless the same worker had the request before';
  throw new ApiError('invalid_value', text, 'structured_messages');
}
