import type { Observable } from 'rxjs';
import { replacesAnswers } from '../../src/guard/guard.js';
import type { GuardEvent } from '../../src/stream/events.js';
import type { FlowGate } from '../../src/stream/flow-gate.js';
import { ApiError } from '../errors/api-error.js';
import { checkFields } from '../policy/passed-fields.js';
import { isStateless, type Route } from '../policy/passed-routes.js';
import type { Policies } from '../policy/policies.js';
import { type OperatorPolicy, underPolicy } from '../policy/policy.js';
import { checkReferences } from '../policy/stored-references.js';
import type { GenerationFields } from '../requests/generation-request.js';
import { guardSchema } from '../requests/guard-limits.js';
import { escalated } from './escalate.js';
import { type FlaggedAnswer, unlessFlagged } from './flagged-answer.js';
import type { KeptAnswers } from './kept-answers.js';
import { Models } from './models.js';
import { saidBy } from './said-by.js';
import type { AskedAnswer, Asker, Forwards, Prepared, PrepareOptions, ServedModel } from './served-model.js';
import { voted } from './vote.js';

/** Of further answers to requests without a temperature, or with 0 (as in arXiv 2203.11171). */
const VOTE_TEMPERATURE = 0.7;

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
  /** Called when answers have voted: whether another one than the flagged one is returned, and with the error of one that was not written. */
  readonly voted: (model: string, replaced: boolean, error: unknown, from: Asker) => void;
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

  /** @param replaces whether a flagged answer may be replaced; the answer that replaces one may not */
  async #prepare(request: GenerationFields, options: GovernedOptions, replaces: boolean): Promise<Prepared> {
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
      guarded && replacesAnswers(guard.action ?? 'annotate')
        ? await this.#prepareToReplace(model, { ...request, guard }, bounded, replaces)
        : await model.prepare({ ...request, guard }, bounded);
    return { ...prepared, guard: { ...prepared.guard, policy: name } };
  }

  /**
   * A text that is given is not answered anew, nor is an answer that replaces another one.
   * @throws ApiError 400 for a model that names no other, and for what another model cannot be asked
   */
  async #prepareToReplace(
    model: ServedModel,
    request: GenerationFields,
    options: GovernedOptions,
    replaces: boolean,
  ): Promise<Prepared> {
    const { asked, from } = options;
    const { guard } = request;
    const { kept } = this.#governing;
    const annotating = { ...request, guard: { ...guard, action: 'annotate' } } as const;
    if (asked.given || !replaces) return model.prepare(annotating, options);
    const action = guard.action === 'vote' ? 'vote' : 'escalate';
    if (guard.act_on === 'spike') throw refusal('guard.act_on', `${action} acts on whole answers alone`);
    if ((request.n ?? 1) !== 1) throw refusal('n', `${action} takes one choice`);
    const first = {
      request: { ...annotating, guard: { ...annotating.guard, delivery: 'immediate' } },
      options: { ...options, asked: { ...asked, verbatim: false, kept: false } },
    } as const;
    const held = !asked.canRetract || guard.delivery === 'held';
    const rest =
      action === 'vote'
        ? this.#vote(model, first.request, first.options)
        : this.#escalation(model, request, options, held);
    const own = await model.prepare(first.request, first.options);
    if (!own.guard.enabled) throw refusal('guard.action', `${action}: no answer can be flagged`);
    return unlessFlagged(own, { action, held, keep: (end) => kept.open(from.client ?? '', end), rest });
  }

  #escalation(model: ServedModel, request: GenerationFields, options: GovernedOptions, held: boolean): Rest {
    const { asked, from } = options;
    const to = this.policies.escalatesTo(model.name);
    if (to === null) throw refusal('guard.action', `escalate: ${model.name} names no other model`);
    if (Array.isArray(asked.prompt))
      throw refusal('prompt', 'escalate takes texts, not token ids of one model');
    const escalation = {
      of: model.name,
      to,
      whole: asked.kept === true && asked.stream !== true,
      prepare: () =>
        this.#prepare(
          { ...request, model: to, guard: {} },
          { ...options, asked: { ...asked, verbatim: false, canRetract: asked.canRetract && !held } },
          false,
        ),
      escalated: (error: unknown) => this.#governing.escalated(model.name, to, error, from),
    };
    return (flagged, gate) => escalated(flagged, escalation, gate);
  }

  #vote(model: ServedModel, request: GenerationFields, options: GovernedOptions): Rest {
    const { temperature, seed, guard } = request;
    const { candidates, candidate_temperature: own } = guardSchema.parse(guard);
    // Greedy answers would all be the same.
    const drawn = { ...request, temperature: own ?? (temperature || VOTE_TEMPERATURE) };
    const further = { ...options, from: { ...options.from, further: true } };
    const vote = {
      answers: 1 + candidates,
      prepare: (number: number) =>
        model.prepare({ ...drawn, ...(typeof seed === 'number' && { seed: seed + number }) }, further),
      said: saidBy(this.policies.voteOf(model.name)),
      voted: (replaced: boolean, error: unknown) =>
        this.#governing.voted(model.name, replaced, error, options.from),
    };
    return (flagged, gate) => voted(flagged, vote, gate);
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

/** The rest of what is told where an answer is flagged. */
type Rest = (flagged: FlaggedAnswer, gate: FlowGate) => Observable<GuardEvent>;

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
