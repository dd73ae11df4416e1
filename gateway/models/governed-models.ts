import { replacesAnswers } from '../../src/guard/guard.js';
import { ApiError } from '../errors/api-error.js';
import { inPlaceOf, type OperatorPolicy, underPolicy } from '../policy/operator-policy.js';
import { checkFields } from '../policy/passed-fields.js';
import { isStateless, type Route } from '../policy/passed-routes.js';
import type { Policies } from '../policy/policies.js';
import { checkReferences } from '../policy/stored-references.js';
import type { GenerationFields } from '../requests/generation-request.js';
import { guardSchema } from '../requests/guard-limits.js';
import { Models } from './models.js';
import { type GovernedOptions, type Replaced, Replacing } from './replacing.js';
import type { AskedAnswer, Forwards, Prepared, ServedModel } from './served-model.js';

export interface Governing extends Replaced {
  /** Called for each request: with the name of its policy, `null` for none, and whether it keeps to it. */
  readonly count: (policy: string | null, kept: boolean) => void;
  /** Whether data that a server has stored may belong to another key. */
  readonly severalKeys: boolean;
}

/** A request that is to be passed on as it is. */
export interface Passing {
  readonly route: Route;
  /** `null` where it is no object of JSON. */
  readonly body: Readonly<Record<string, unknown>> | null;
  /** Name of the key. */
  readonly principal: string;
}

/**
 * The models as clients reach them. This class decides which requests reach a server, and under which guard: each
 * request has a guard that the operator's policy allows, and possible ways past it are refused.
 */
export class GovernedModels extends Models {
  readonly #governing: Governing;
  #policies: Policies;

  constructor(models: Models, policies: Policies, governing: Governing) {
    super(models.all);
    this.#policies = policies;
    this.#governing = governing;
  }

  /** Those of new requests. */
  get policies(): Policies {
    return this.#policies;
  }

  /** A request has the policies that it began with to its end, and so have further answers to it. */
  replacePolicies(policies: Policies): void {
    this.#policies = policies;
  }

  /** @throws ApiError 403 `policy_violation`, 400 for references to stored data; errors of {@link Models.prepare} */
  override prepare(request: GenerationFields, options: GovernedOptions): Promise<Prepared> {
    return this.#prepare(request, options, this.#policies, null);
  }

  /** @param inPlace of an answer in place of a flagged one, which is not replaced itself: the policy of the request */
  async #prepare(
    request: GenerationFields,
    options: GovernedOptions,
    policies: Policies,
    inSlot: { readonly of: OperatorPolicy | null } | null,
  ): Promise<Prepared> {
    const { count, severalKeys } = this.#governing;
    const { asked, from, bounds } = options;
    const { principal } = from;
    const model = this.get(request.model);
    const own = policies.of(model.name, principal);
    const policy = inSlot ? inPlaceOf(inSlot.of, own) : own;
    const name = policy?.name ?? null;
    let { guard } = request;
    let refusesUnscored = false;
    let guarded = false;
    try {
      if (policy) guard = underPolicy(policy, guard);
      guarded = guardSchema.parse(guard).enabled;
      // A text that is given reaches no server.
      refusesUnscored = policy?.unscored === 'refuse' && guarded && !asked.given;
      if (model.hosts && !asked.given) {
        if (severalKeys) checkReferences(asked.response ?? request);
        const closing =
          (policy?.closed && guarded ? policy : null) ?? this.#closingBeside(model, principal, policies);
        if (closing) checkPassedOn(request, asked, closing, refusesUnscored);
      }
    } catch (error) {
      count(name, false);
      throw error;
    }
    count(name, true);
    const bounded = { ...options, bounds: { ...bounds, refusesUnscored } };
    const prepared =
      guarded && replacesAnswers(guard.action ?? 'annotate')
        ? await this.#replacing(policies, policy).prepare(
            model,
            { ...request, guard },
            bounded,
            inSlot === null,
          )
        : await model.prepare({ ...request, guard }, bounded);
    return {
      ...prepared,
      guard: { ...prepared.guard, policy: name },
      setByPolicy: policy?.defaults ?? {},
    };
  }

  #replacing(policies: Policies, policy: OperatorPolicy | null): Replacing {
    return new Replacing(policies, {
      ...this.#governing,
      other: (request, options) => this.#prepare(request, options, policies, { of: policy }),
    });
  }

  /**
   * Finds the model whose servers are sent a request as it is.
   * @throws ApiError 404 for a route that the operator does not list, or a model that is not served; 403 where a policy
   *   keeps unguarded requests from one of the models of the same server; 400 for references to stored data
   */
  passing({ route, body, principal }: Passing): {
    readonly name: string;
    readonly forwards: Forwards;
  } {
    const policies = this.#policies;
    if (body && this.#governing.severalKeys) checkReferences(body);
    const among = typeof body?.model === 'string' ? [this.get(body.model)] : this.all;
    for (const model of among) {
      const { name, forwards } = model;
      if (!forwards?.routes.includes(route)) continue;
      const closing =
        closingPolicy(model, principal, policies) ?? this.#closingBeside(model, principal, policies);
      if (closing && !isStateless(route)) {
        const problem = `the policy ${closing.name} locks the guard, and nothing is guarded at this path`;
        throw new ApiError('policy_violation', problem);
      }
      return { name, forwards };
    }
    throw new ApiError('not_found', `${route} is not passed on to the servers of this model`);
  }

  /** Whether any model passes on anything. */
  get passes(): boolean {
    return this.all.some(({ forwards }) => forwards !== undefined);
  }

  /** The policy of another model of the same servers: a request that is not understood here may name that one. */
  #closingBeside(
    { name, hosts = [] }: ServedModel,
    principal: string,
    policies: Policies,
  ): OperatorPolicy | null {
    for (const other of this.all) {
      if (other.name === name || !other.hosts?.some((host) => hosts.includes(host))) continue;
      const closing = closingPolicy(other, principal, policies);
      if (closing) return closing;
    }
    return null;
  }
}

function closingPolicy({ name }: ServedModel, principal: string, policies: Policies): OperatorPolicy | null {
  const policy = policies.of(name, principal);
  return policy?.closed ? policy : null;
}

function checkPassedOn(
  request: GenerationFields,
  { response, prompt }: AskedAnswer,
  { name: policy }: OperatorPolicy,
  scored: boolean,
): void {
  if (response) checkFields(response, 'response', { policy, scored });
  else checkFields(request, prompt === undefined ? 'chat' : 'completion', { policy, scored });
}
