import type { Policies } from '../policy/policies.js';
import { underPolicy } from '../policy/policy.js';
import type { GenerationFields } from '../requests/generation-request.js';
import { Models } from './models.js';
import type { Prepared, PrepareOptions } from './served-model.js';

export interface GovernedOptions extends PrepareOptions {
  /** Name of the key. */
  readonly principal: string;
}

/** Told of each request: the name of its policy, `null` for none, and whether it keeps to it. */
export type CountPolicy = (policy: string | null, kept: boolean) => void;

/** The models as clients reach them: each request has the guard that the operator's policy allows. */
export class GovernedModels extends Models {
  readonly policies: Policies;
  readonly #count: CountPolicy;

  constructor(models: Models, policies: Policies, count: CountPolicy) {
    super(models.all);
    this.policies = policies;
    this.#count = count;
  }

  /** @throws ApiError 403 `policy_violation`; what {@link Models.prepare} throws */
  override async prepare(
    request: GenerationFields,
    { principal, ...options }: GovernedOptions,
  ): Promise<Prepared> {
    const model = this.get(request.model);
    const policy = this.policies.of(model.name, principal);
    const name = policy?.name ?? null;
    let { guard } = request;
    try {
      if (policy) guard = underPolicy(policy, guard);
    } catch (error) {
      this.#count(name, false);
      throw error;
    }
    this.#count(name, true);
    const prepared = await model.prepare({ ...request, guard }, options);
    return { ...prepared, guard: { ...prepared.guard, policy: name } };
  }
}
