import { isDeepStrictEqual } from 'node:util';
import { ApiError } from '../errors/api-error.js';
import type { GenerationFields } from '../requests/generation-request.js';
import { LOGPROBS, type ResponseRequest } from '../requests/response-request.js';

type Check = (value: unknown) => boolean;

const anything: Check = () => true;
const oneOf =
  (...values: readonly unknown[]): Check =>
  (value) =>
    values.some((each) => isDeepStrictEqual(value, each));
const listOf =
  (...values: readonly string[]): Check =>
  (value) =>
    Array.isArray(value) && value.every((each) => values.includes(each));
const objectOf =
  (...names: readonly string[]): Check =>
  (value) =>
    typeof value === 'object' && value !== null && Object.keys(value).every((name) => names.includes(name));

/** How a field may be set. */
interface Passed {
  /** Check under any lock. */
  readonly known: Check;
  /** Check if text without a score is refused, too. */
  readonly scored: Check;
}

const free: Passed = { known: anything, scored: anything };
const neutral = (...values: readonly unknown[]): Passed => ({ known: anything, scored: oneOf(...values) });
const always = (known: Check): Passed => ({ known, scored: anything });

const streaming = {
  stream: free,
  stream_options: always(objectOf('include_usage', 'include_obfuscation', 'continuous_usage_stats')),
};

const sampling = { temperature: free, top_p: free, top_logprobs: free };

/** Accounting, which changes no answer. */
const accounting = {
  user: free,
  metadata: free,
  store: free,
  service_tier: free,
  safety_identifier: free,
  prompt_cache_key: free,
  prompt_cache_retention: free,
};

const ofFlinch = { model: free, guard: free, resumable: free };

const ofCompletions = {
  ...ofFlinch,
  ...streaming,
  ...sampling,
  ...accounting,
  clamp: free,
  type: free,
  request_id: free,
  top_k: free,
  min_p: free,
  seed: free,
  stop: free,
  max_tokens: free,
  logprobs: free,
  frequency_penalty: free,
  presence_penalty: free,
  repetition_penalty: free,
  // Some servers report log-probabilities after it was applied.
  logit_bias: neutral({}),
  n: neutral(1),
};

/** OpenAI's API reference, as far as a field neither hides tokens from the guard nor multiplies them. */
const FIELDS: Readonly<Record<PassedApi, Readonly<Record<string, Passed>>>> = {
  chat: {
    ...ofCompletions,
    messages: free,
    max_completion_tokens: free,
    reasoning_effort: free,
    verbosity: free,
    tools: free,
    tool_choice: free,
    parallel_tool_calls: free,
    functions: free,
    function_call: free,
    response_format: free,
    chat_template_kwargs: free,
    documents: free,
    modalities: neutral(['text']),
  },
  completion: {
    ...ofCompletions,
    prompt: free,
    best_of: neutral(1),
    echo: neutral(false),
    suffix: neutral(''),
    // Set by us.
    messages: free,
  },
  response: {
    ...ofFlinch,
    ...streaming,
    ...sampling,
    ...accounting,
    input: free,
    instructions: free,
    max_output_tokens: free,
    reasoning: free,
    text: free,
    tools: free,
    tool_choice: free,
    parallel_tool_calls: free,
    max_tool_calls: free,
    truncation: free,
    // A server repeats text that was held back if it gets these.
    previous_response_id: neutral(),
    conversation: neutral(),
    include: always(listOf(LOGPROBS, 'reasoning.encrypted_content')),
    background: neutral(false),
  },
};

export type PassedApi = 'chat' | 'completion' | 'response';

/**
 * Checks that a request has no field but those that are known to leave the guard whole: the effect of other fields
 * on a server is unknown.
 * @param policy name of the policy that locks the guard
 * @param scored whether text without a score is refused
 * @throws ApiError 403 that names the first other field
 */
export function checkFields(
  request: GenerationFields | ResponseRequest,
  api: PassedApi,
  { policy, scored }: { readonly policy: string; readonly scored: boolean },
): void {
  for (const [name, value] of Object.entries(request)) {
    const passed = Object.hasOwn(FIELDS[api], name) ? FIELDS[api][name] : undefined;
    if (value === undefined || value === null) continue;
    if (passed?.known(value) && (!scored || passed.scored(value))) continue;
    const problem = `is not passed on as it is here, for the guard is locked by the policy ${policy}`;
    throw new ApiError('policy_violation', `${name}: ${problem}`, name);
  }
}

/** Names of the fields, for the page about policies. */
export const passedFields = (api: PassedApi): readonly string[] => Object.keys(FIELDS[api]);
