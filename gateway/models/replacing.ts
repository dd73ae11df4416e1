import { ApiError } from '../errors/api-error.js';
import type { Policies } from '../policy/policies.js';
import type { GenerationFields } from '../requests/generation-request.js';
import { guardSchema } from '../requests/guard-limits.js';
import { voted } from './answer-vote.js';
import { escalated } from './escalate.js';
import { type FlaggedOptions, unlessFlagged } from './flagged-answer.js';
import type { KeptAnswers } from './kept-answers.js';
import { saidBy } from './said-by.js';
import type { Asker, Prepared, PrepareOptions, ServedModel } from './served-model.js';

/** Of further answers to requests without a temperature, or with 0 (as in arXiv 2203.11171). */
const VOTE_TEMPERATURE = 0.7;

export interface GovernedOptions extends PrepareOptions {
  readonly from: Asker & {
    /** Name of the key. */
    readonly principal: string;
  };
}

export interface Replaced {
  /** Counts answers that wait for whether they are replaced. */
  readonly kept: KeptAnswers;
  /**
   * Called when a flagged answer makes a model ask another one: with the error for which that one does not answer, if any.
   */
  readonly escalated: (model: string, to: string, error: unknown, from: Asker) => void;
  /**
   * Called when answers have voted: whether another one than the flagged one is returned, and with the error of one that was
   * not written.
   */
  readonly voted: (model: string, replaced: boolean, error: unknown, from: Asker) => void;
}

interface ReplacingOptions extends Replaced {
  /** Prepares a request to another model, whose answer is not replaced. */
  readonly other: (request: GenerationFields, options: GovernedOptions) => Promise<Prepared>;
}

/** Answers that are replaced where they are flagged: by another model's, or by a vote. */
export class Replacing {
  readonly #policies: Policies;
  readonly #options: ReplacingOptions;

  constructor(policies: Policies, options: ReplacingOptions) {
    this.#policies = policies;
    this.#options = options;
  }

  /**
   * A text that is given is not answered anew, nor is an answer that replaces another one.
   * @param replaces whether the answer may be replaced
   * @throws ApiError 400 for a model that names no other, and for what another model cannot be asked
   */
  async prepare(
    model: ServedModel,
    request: GenerationFields,
    options: GovernedOptions,
    replaces: boolean,
  ): Promise<Prepared> {
    const { asked, from } = options;
    const { guard } = request;
    const annotating = { ...request, guard: { ...guard, action: 'annotate' } } as const;
    if (asked.given || !replaces) return model.prepare(annotating, options);
    const action = guard.action === 'vote' ? 'vote' : 'escalate';
    if ((request.n ?? 1) !== 1) throw refusal('n', `${action} takes one choice`);
    const escalation = action === 'escalate' ? this.#escalates(model, asked.prompt) : null;
    const held = !asked.canRetract || guard.delivery === 'held';
    const first = { ...annotating, guard: { ...annotating.guard, delivery: 'immediate' } } as const;
    const apart = { ...options, asked: { ...asked, verbatim: false, kept: false } };
    const rest = escalation
      ? this.#escalateAnswer(
          model,
          escalation.to,
          request,
          { ...options, asked: { ...asked, verbatim: false } },
          held,
        )
      : this.#vote(model, first, apart);
    const own = guarded(await model.prepare(first, apart), action);
    const keep: FlaggedOptions['keep'] = (end) => this.#options.kept.open(from.client ?? '', end);
    return unlessFlagged(own, { action, held, keep, rest });
  }

  #escalates({ name }: ServedModel, prompt: GovernedOptions['asked']['prompt']) {
    const escalation = this.#policies.escalationOf(name);
    if (escalation === null) throw refusal('guard.action', `escalate: ${name} names no other model`);
    if (Array.isArray(prompt)) throw refusal('prompt', 'escalate takes texts, not token ids of one model');
    return escalation;
  }

  #escalateAnswer(
    model: ServedModel,
    to: string,
    request: GenerationFields,
    options: GovernedOptions,
    held: boolean,
  ): FlaggedOptions['rest'] {
    const { asked, from } = options;
    const escalation = {
      of: model.name,
      to,
      whole: asked.kept === true && asked.stream !== true,
      prepare: () =>
        this.#options.other(
          { ...request, model: to, guard: {} },
          { ...options, asked: { ...asked, canRetract: asked.canRetract && !held } },
        ),
      escalated: (error: unknown) => this.#options.escalated(model.name, to, error, from),
    };
    return (flagged, gate) => escalated(flagged, escalation, gate);
  }

  #vote(model: ServedModel, request: GenerationFields, options: GovernedOptions): FlaggedOptions['rest'] {
    const { temperature, seed, guard } = request;
    const { candidates } = guardSchema.parse(guard);
    // Greedy answers would all be the same.
    const drawn = { ...request, temperature: temperature || VOTE_TEMPERATURE };
    const { listeners: _, asked, ...apart } = options;
    const response = asked.response && { ...asked.response, temperature: drawn.temperature };
    const further = {
      ...apart,
      asked: { ...asked, ...(response && { response }) },
      from: { ...options.from, further: true },
    };
    const vote = {
      answers: 1 + candidates,
      prepare: (number: number) =>
        model.prepare(
          {
            ...drawn,
            ...(typeof seed === 'number' && {
              seed: (Number.isSafeInteger(seed + number) ? seed : seed % 2 ** 31) + number,
            }),
          },
          further,
        ),
      said: saidBy(this.#policies.voteOf(model.name)),
      voted: (replaced: boolean, error: unknown) =>
        this.#options.voted(model.name, replaced, error, options.from),
    };
    return (flagged, gate) => voted(flagged, vote, gate);
  }
}

/** @throws ApiError where nothing is judged */
function guarded(prepared: Prepared, action: string): Prepared {
  if (prepared.guard.enabled) return prepared;
  throw refusal('guard.action', `${action}: no answer can be flagged`);
}

const refusal = (param: string, problem: string): ApiError =>
  new ApiError('invalid_value', `${param}: ${problem}`, param);
