import { ApiError } from '../errors/api-error.js';
import { checkFields } from '../policy/passed-fields.js';
import { isStateless, type Route } from '../policy/passed-routes.js';
import type { Policies } from '../policy/policies.js';
import { type OperatorPolicy, underPolicy } from '../policy/policy.js';
import { checkReferences } from '../policy/stored-references.js';
import type { GenerationFields } from '../requests/generation-request.js';
import { guardSchema } from '../requests/guard-limits.js';
import { escalating } from './escalate.js';
import type { KeptAnswers } from './kept-answers.js';
import { Models } from './models.js';
import type { AskedAnswer, Asker, Forwards, Prepared, PrepareOptions, ServedModel } from './served-model.js';

export interface GovernedOptions extends PrepareOptions {
  readonly from: Asker & {
    /** Name of the key. */
    readonly principal: string;
  };
}

export interface Governing {
  /** Called for each request: with the name of its policy, `null` for none, and whether it keeps to it. */
  readonly count: (policy: string | null, kept: boolean) => void;
  /** Whether data that a server has stored may belong to another key. */
  readonly severalKeys: boolean;
  /** Counts answers that wait for whether another model is asked. */
  readonly kept: KeptAnswers;
  /** Called when a flagged answer makes a model ask another one: with the error for which that one does not answer, if any. */
  readonly escalated: (model: string, to: string, error: unknown, from: Asker) => void;
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
  readonly policies: Policies;
  readonly #governing: Governing;

  constructor(models: Models, policies: Policies, governing: Governing) {
    super(models.all);
    this.policies = policies;
    this.#governing = governing;
  }

  /** @throws ApiError 403 `policy_violation`, 400 for references to stored data; errors of {@link Models.prepare} */
  override prepare(request: GenerationFields, options: GovernedOptions): Promise<Prepared> {
    return this.#prepare(request, options, true);
  }

  /** @param escalates whether another model may be asked; the other one may not ask a third */
  async #prepare(request: GenerationFields, options: GovernedOptions, escalates: boolean): Promise<Prepared> {
    const { count, severalKeys } = this.#governing;
    const { asked, from, bounds } = options;
    const { principal } = from;
    const model = this.get(request.model);
    const policy = this.policies.of(model.name, principal);
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
        const closing = (policy?.closed && guarded ? policy : null) ?? this.#closingBeside(model, principal);
        if (closing) checkPassedOn(request, asked, closing, refusesUnscored);
      }
    } catch (error) {
      count(name, false);
      throw error;
    }
    count(name, true);
    const bounded = { ...options, bounds: { ...bounds, refusesUnscored } };
    const prepared =
      guarded && guard.action === 'escalate'
        ? await this.#prepareToEscalate(model, { ...request, guard }, bounded, escalates)
        : await model.prepare({ ...request, guard }, bounded);
    return { ...prepared, guard: { ...prepared.guard, policy: name } };
  }

  /**
   * A text that is given is not answered anew, nor is the answer of a model that was asked in place of another one.
   * @throws ApiError 400 for a model that names no other, and for what another model cannot be asked
   */
  async #prepareToEscalate(
    model: ServedModel,
    request: GenerationFields,
    options: GovernedOptions,
    escalates: boolean,
  ): Promise<Prepared> {
    const { asked, from } = options;
    const { guard } = request;
    const { kept, escalated } = this.#governing;
    const annotating = { ...request, guard: { ...guard, action: 'annotate' } } as const;
    if (asked.given || !escalates) return model.prepare(annotating, options);
    const to = this.policies.escalatesTo(model.name);
    if (to === null) throw refusal('guard.action', `escalate: ${model.name} names no other model`);
    if (guard.act_on === 'spike') throw refusal('guard.act_on', 'escalate acts on whole answers alone');
    if (Array.isArray(asked.prompt))
      throw refusal('prompt', 'escalate takes texts, not token ids of one model');
    if ((request.n ?? 1) !== 1) throw refusal('n', 'escalate takes one choice');
    const held = !asked.canRetract || guard.delivery === 'held';
    const own = await model.prepare(
      { ...annotating, guard: { ...annotating.guard, delivery: 'immediate' } },
      { ...options, asked: { ...asked, verbatim: false, kept: false } },
    );
    if (!own.guard.enabled) throw refusal('guard.action', 'escalate: no answer can be flagged');
    return escalating(own, {
      to,
      keep: held ? (end) => kept.open(from.client ?? '', end) : null,
      whole: asked.kept === true && asked.stream !== true,
      prepare: () =>
        this.#prepare(
          { ...request, model: to, guard: {} },
          { ...options, asked: { ...asked, verbatim: false, canRetract: asked.canRetract && !held } },
          false,
        ),
      escalated: (error) => escalated(model.name, to, error, from),
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
    if (body && this.#governing.severalKeys) checkReferences(body);
    const among = typeof body?.model === 'string' ? [this.get(body.model)] : this.all;
    for (const model of among) {
      const { name, forwards } = model;
      if (!forwards?.routes.includes(route)) continue;
      const closing = this.#closing(model, principal) ?? this.#closingBeside(model, principal);
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

  #closing({ name }: ServedModel, principal: string): OperatorPolicy | null {
    const policy = this.policies.of(name, principal);
    return policy?.closed ? policy : null;
  }

  /** The policy of another model of the same servers: a request that is not understood here may name that one. */
  #closingBeside({ name, hosts = [] }: ServedModel, principal: string): OperatorPolicy | null {
    for (const other of this.all) {
      if (other.name === name || !other.hosts?.some((host) => hosts.includes(host))) continue;
      const closing = this.#closing(other, principal);
      if (closing) return closing;
    }
    return null;
  }
}

const refusal = (param: string, problem: string): ApiError =>
  new ApiError('invalid_value', `${param}: ${problem}`, param);

function checkPassedOn(
  request: GenerationFields,
  { response, prompt }: AskedAnswer,
  { name: policy }: OperatorPolicy,
  scored: boolean,
): void {
  if (response) checkFields(response, 'response', { policy, scored });
  else checkFields(request, prompt === undefined ? 'chat' : 'completion', { policy, scored });
}
