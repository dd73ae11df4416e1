import type { Config } from '../config/gateway-config.js';
import { inPlaceOf, type OperatorPolicy, underPolicy } from '../policy/operator-policy.js';
import { checkFields } from '../policy/passed-fields.js';
import type { Policies } from '../policy/policies.js';
import { checkReferences } from '../policy/stored-references.js';
import { guardSchema } from '../requests/guard-limits.js';
import type { AnswerRequest, Asked } from './asked.js';
import type { Models } from './models.js';
import type { ServedModel } from './served-model.js';

/** What the operator has set. */
export interface Governing {
  readonly models: Models;
  readonly policies: Policies;
  readonly limits: Pick<Config['limits'], 'prompt_characters' | 'response_tokens'>;
  /** Whether data that a server has stored may belong to another key. */
  readonly severalKeys: boolean;
  /** Called for each request: with the name of its policy, `null` for none, and whether it keeps to it. */
  readonly count: (policy: string | null, kept: boolean) => void;
}

/** There is nothing to take back or to wait for: every token is scored, and steps are only flagged. */
const SCORED_WHOLE = { action: 'annotate', delivery: 'immediate', lag: 'wait' } as const;

/**
 * A request with the guard that the operator's policy allows. Possible ways past the guard are refused.
 * @param replaced the answer in whose place it is asked for: what its policy promises holds for this one
 * @throws ApiError 403 `policy_violation`, 400 for references to stored data
 */
export function understood(
  request: AnswerRequest,
  model: ServedModel,
  governing: Governing,
  replaced?: Pick<Asked, 'policy'>,
): Asked {
  const { fields, given, principal } = request;
  const own = governing.policies.of(model.name, principal);
  const policy = replaced ? inPlaceOf(replaced.policy, own) : own;
  const checked = (): Asked => {
    const set = policy ? underPolicy(policy, fields.guard) : fields.guard;
    const { enabled } = guardSchema.parse(set);
    // A text that is given reaches no server.
    const refusesUnscored = policy?.unscored === 'refuse' && enabled && !given;
    if (model.hosts && !given) {
      if (governing.severalKeys) checkReferences(request.response ?? fields);
      const closing = policy?.closed && enabled ? policy : closingBeside(model, principal, governing);
      if (closing) checkPassedOn(request, closing, refusesUnscored);
    }
    const guard = given ? { ...set, ...SCORED_WHOLE } : set;
    const maxTokens = governing.limits.response_tokens;
    return { ...request, fields: { ...fields, guard }, policy, refusesUnscored, maxTokens };
  };
  let asked: Asked | null = null;
  try {
    asked = checked();
    return asked;
  } finally {
    governing.count(policy?.name ?? null, asked !== null);
  }
}

function checkPassedOn(
  { fields, response, prompt }: AnswerRequest,
  { name: policy }: OperatorPolicy,
  scored: boolean,
): void {
  if (response) checkFields(response, 'response', { policy, scored });
  else checkFields(fields, prompt === undefined ? 'chat' : 'completion', { policy, scored });
}

/**
 * The policy that closes another model of the same servers: a request that is not understood here may name that one.
 * @param principal name of the key
 */
export function closingBeside(
  model: ServedModel,
  principal: string,
  { models, policies }: Pick<Governing, 'models' | 'policies'>,
): OperatorPolicy | null {
  const others = models.beside(model).map(({ name }) => policies.of(name, principal));
  return others.find((policy) => policy?.closed === true) ?? null;
}
