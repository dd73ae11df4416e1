import type {
  DoneEvent,
  GuardEvent,
  ScoreEvent,
  TextDoneEvent,
  TokenEvent,
  UpstreamEvent,
} from '../../src/stream/events.js';
import { usageByModelFields, usageFields, verdictFields } from '../../src/stream/wire.js';
import type { AnswerForm } from '../answers/served-model.js';
import { type ChoiceForm, charactersOf } from './choice-form.js';
import { GuardWarnings } from './guard-warnings.js';
import type { SaidGuard } from './said-guard.js';
import { logprobEntry, scoredToken } from './token-entries.js';
import { UpstreamFields } from './upstream-fields.js';
import { findingFields, type WholeOptions } from './whole-completion.js';

/** What is new since the chunk before. */
interface FlinchNews {
  readonly guard?: SaidGuard;
  readonly tokens: readonly object[];
  readonly events?: readonly object[];
  readonly escalations?: readonly object[];
  readonly votes?: readonly object[];
  readonly verdict?: object;
}

/** Fields of a chunk. */
export interface CompletionChunk {
  readonly choices: readonly Readonly<Record<string, unknown>>[];
  readonly flinch?: FlinchNews;
  readonly [field: string]: unknown;
}

export interface CompletionOptions extends WholeOptions {
  /** How the answer comes: if the score of each token follows it at once (`scored`), one chunk carries both. */
  readonly comes?: AnswerForm;
  /** Whether a last chunk is to carry the usage; then the others carry `null`, as OpenAI's do. */
  readonly includeUsage: boolean;
}

/**
 * The chunks of one completion in OpenAI's shapes, with what flinch knows beside `choices`. A delta cannot be taken
 * back: the events must be those of a guard that retracts nothing, or that holds back what it may retract.
 */
export class Completion {
  readonly #options: CompletionOptions;
  readonly #form: ChoiceForm;
  readonly #guard: GuardWarnings;
  readonly #created = Math.floor(Date.now() / 1000);
  /** Tokens of which scores are to come, by index: a score's chunk repeats its token. */
  readonly #tokens = new Map<number, TokenEvent>();
  /** Characters of the texts so far, if log-probabilities are sent. */
  #characters = 0;
  /** Waits for its score. */
  #unsent: TokenEvent | null = null;
  /** Fields of an upstream's chunks that are not ours. */
  readonly #fields = new UpstreamFields();
  #usage: unknown = null;
  /** The chunk with the reason for which the text ends was sent. */
  #isFinished = false;

  constructor(options: CompletionOptions) {
    this.#options = options;
    this.#form = options.form;
    this.#guard = new GuardWarnings(options.guard);
  }

  /** The chunk before all others. */
  opening() {
    return this.#chunk({ delta: this.#form.opening }, { guard: this.#options.guard, tokens: [] });
  }

  chunks(event: GuardEvent): CompletionChunk[] {
    const token = this.#unsent;
    this.#unsent = null;
    if (token && event.type === 'score.delta' && event.index === token.index)
      return [this.#tokenChunk(token, event)];
    const chunks = token ? [this.#tokenChunk(token)] : [];
    if (event.type !== 'token.delta') chunks.push(...this.#chunks(event));
    else if (this.#options.comes === 'scored') this.#unsent = event;
    else chunks.push(this.#tokenChunk(event));
    return chunks;
  }

  #chunks(event: Exclude<GuardEvent, TokenEvent>): CompletionChunk[] {
    if (event.type === 'score.delta') return this.#scoreChunks(event);
    if (event.type === 'text.done') return [this.#finish(event)];
    if (event.type === 'generation.done') return this.#closing(event);
    if (event.type === 'upstream.delta') return this.#passed(event);
    const found = [findingFields(event, this.#options.vocabulary)];
    if (event.type === 'generation.escalated') return [this.#chunk({}, { tokens: [], escalations: found })];
    if (event.type === 'generation.voted') return [this.#chunk({}, { tokens: [], votes: found })];
    return [this.#chunk({}, { tokens: [], events: found })];
  }

  #tokenChunk(event: TokenEvent, score?: ScoreEvent): CompletionChunk {
    if ((!score || score.pending) && this.#options.guard.enabled) this.#tokens.set(event.index, event);
    const flinch = { tokens: [scoredToken(event, this.#options.vocabulary, score)] };
    // Other parts reach the client through the upstream's events beside the text.
    if (event.part) return this.#chunk({}, flinch);
    const at = this.#characters;
    if (this.#options.logprobs) this.#characters += charactersOf(event.text);
    const logprobs = this.#options.logprobs
      ? this.#form.logprobs([logprobEntry(event, this.#options.vocabulary)], at)
      : null;
    return this.#chunk({ delta: this.#form.delta(event.text), logprobs }, flinch);
  }

  #scoreChunks(event: ScoreEvent): CompletionChunk[] {
    const token = this.#tokens.get(event.index);
    if (!event.pending) this.#tokens.delete(event.index);
    return token ? [this.#chunk({}, { tokens: [scoredToken(token, this.#options.vocabulary, event)] })] : [];
  }

  /** Chunks for events beside the text. The guard's warnings list parts that have no scores, once. */
  #passed(event: UpstreamEvent): CompletionChunk[] {
    const { logprobs: asked } = this.#options;
    const learnt = this.#learn(event);
    const choices = Array.isArray(event.chunk.choices) ? event.chunk.choices : [];
    if (choices.length === 0)
      return learnt && event.warnings ? [this.#chunk({}, { guard: this.#guard.inForce, tokens: [] })] : [];
    return [
      {
        ...this.#header(this.#form.objects.chunk),
        choices: choices.map(({ logprobs, ...choice }) => ({
          logprobs: asked ? (logprobs ?? null) : null,
          finish_reason: null,
          ...this.#form.passed(choice),
        })),
        ...(this.#options.includeUsage && { usage: null }),
        flinch: { ...(learnt && { guard: this.#guard.inForce }), tokens: [] },
      },
    ];
  }

  /** @returns whether something has no scores of which that was not known */
  #learn(event: UpstreamEvent): boolean {
    // An upstream that is flinch has its own `flinch`, which ours takes the place of.
    const { choices: _, usage, flinch: __, ...fields } = event.chunk;
    this.#fields.add(fields);
    this.#usage = usage ?? this.#usage;
    return this.#guard.learn(event);
  }

  #usageOf({ usage }: DoneEvent): object {
    return { ...(typeof this.#usage === 'object' && this.#usage), ...usageFields(usage) };
  }

  #finish(done: DoneEvent | TextDoneEvent): CompletionChunk {
    const { finishReason, verdict } = done;
    this.#isFinished = true;
    const flinch = {
      tokens: [],
      ...(verdict && { verdict: verdictFields(verdict) }),
      ...usageByModelFields(done),
    };
    return this.#chunk({ finishReason }, flinch);
  }

  #closing(done: DoneEvent): CompletionChunk[] {
    const last = this.#isFinished ? [] : [this.#finish(done)];
    if (!this.#options.includeUsage) return last;
    return [...last, { ...this.#header(this.#form.objects.chunk), choices: [], usage: this.#usageOf(done) }];
  }

  #chunk(
    choice: { delta?: object; logprobs?: object | null; finishReason?: string },
    flinch: FlinchNews,
  ): CompletionChunk {
    const { delta = this.#form.delta(), logprobs = null, finishReason = null } = choice;
    return {
      ...this.#header(this.#form.objects.chunk),
      choices: [{ index: 0, ...delta, logprobs, finish_reason: finishReason }],
      ...(this.#options.includeUsage && { usage: null }),
      flinch,
    };
  }

  #header(object: string) {
    const { id, model } = this.#options;
    return { ...this.#fields.take(), id, object, created: this.#created, model };
  }
}
