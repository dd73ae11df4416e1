import type {
  DoneEvent,
  GuardEvent,
  ScoreEvent,
  TokenEvent,
  TopToken,
  Unscored,
  UpstreamEvent,
} from '../../src/stream/events.js';
import {
  eventFields,
  scoreFields,
  tokenFields,
  usageFields,
  type Vocabulary,
  verdictFields,
} from '../../src/stream/wire.js';
import type { GuardInForce } from '../models/served-model.js';
import { type AssembledChoice, assemble } from './assemble.js';
import {
  type ChoiceForm,
  charactersOf,
  chatEntry,
  type LogprobEntry,
  type OpenAiToken,
} from './choice-form.js';
import { listOf } from './json.js';

/** What is sent of it at once. */
export interface CompletionChunk {
  readonly choices: readonly Readonly<Record<string, unknown>>[];
  readonly flinch?: { readonly tokens: readonly object[]; readonly events?: readonly object[] };
  readonly [field: string]: unknown;
}

export interface CompletionOptions {
  readonly id: string;
  readonly model: string;
  readonly vocabulary: Vocabulary;
  readonly guard: GuardInForce;
  readonly form: ChoiceForm;
  /** Whether the client asked for OpenAI's `logprobs`. */
  readonly logprobs: boolean;
  /** Whether the score of each token follows it at once: then one chunk carries both. */
  readonly scoredAtOnce?: boolean | undefined;
  /** Whether a last chunk is to carry the usage; then the others carry `null`, as OpenAI's do. */
  readonly includeUsage: boolean;
}

/**
 * One completion in OpenAI's shapes, with what flinch knows beside `choices`. A delta cannot be taken back: the
 * events must be those of a guard that retracts nothing, or that holds back what it may retract.
 */
export class Completion {
  readonly #options: CompletionOptions;
  readonly #form: ChoiceForm;
  readonly #created = Math.floor(Date.now() / 1000);
  /** Whose scores have not come, by index: a score's chunk repeats its token. */
  readonly #tokens = new Map<number, TokenEvent>();
  /** Of their texts, where log-probabilities are told. */
  #characters = 0;
  /** Waits for its score. */
  #unsent: TokenEvent | null = null;
  /** Fields of an upstream's chunks that are not ours. */
  #extra: Readonly<Record<string, unknown>> = {};
  #usage: unknown = null;
  readonly #unscored = new Set<Unscored>();
  /** What stands around the text and the token in each chunk of a token. */
  #frame: { readonly before: string; readonly between: string } | null = null;

  constructor(options: CompletionOptions) {
    this.#options = options;
    this.#form = options.form;
  }

  whole(events: readonly GuardEvent[]) {
    const tokens = events.filter((event) => event.type === 'token.delta');
    const scores = new Map(
      events.flatMap((event) => (event.type === 'score.delta' ? [[event.index, event]] : [])),
    );
    const done = events.find((event) => event.type === 'generation.done');
    const { guard } = this.#options;
    const passed = events.filter((event) => event.type === 'upstream.delta');
    for (const event of passed) this.#learn(event);
    const [first, ...others] = this.#choices(passed);
    const text = tokens.map((token) => (token.part ? '' : token.text)).join('');
    const header: Readonly<Record<string, unknown>> = this.#header(this.#form.objects.whole);
    // Which obfuscates the length of a chunk.
    const { obfuscation: _, ...named } = header;
    return {
      ...named,
      choices: [
        {
          ...this.#form.whole(first, text),
          index: 0,
          logprobs: this.#options.logprobs ? this.#logprobs(events) : null,
          finish_reason: done?.finishReason ?? null,
        },
        ...others.map((choice) => this.#form.whole(choice, this.#form.textOf(choice))),
      ],
      ...(done && { usage: this.#usageOf(done) }),
      flinch: {
        guard: this.#guard,
        tokens: tokens.map((token) => this.#token(token, scores.get(token.index))),
        ...(guard.enabled && {
          steps: this.#ofType(events, 'step.done'),
          flagged: this.#ofType(events, 'step.flagged'),
          rollbacks: this.#ofType(events, 'rollback.done'),
          mismatches: this.#ofType(events, 'scorer.mismatch'),
        }),
        ...(done?.verdict && { verdict: verdictFields(done.verdict) }),
      },
    };
  }

  /** The chunk before all others. */
  opening() {
    return this.#chunk({ delta: this.#form.opening }, { guard: this.#options.guard, tokens: [] });
  }

  chunks(event: GuardEvent): CompletionChunk[] {
    return this.#said(
      event,
      (token, score) => this.#tokenChunk(token, score),
      (chunk) => chunk,
    );
  }

  /** The chunks as JSON: what those of tokens have in common is written once. */
  json(event: GuardEvent): string[] {
    return this.#said(
      event,
      (token, score) => this.#tokenJson(token, score),
      (chunk) => JSON.stringify(chunk),
    );
  }

  #said<T>(
    event: GuardEvent,
    ofToken: (token: TokenEvent, score?: ScoreEvent) => T,
    ofChunk: (chunk: CompletionChunk) => T,
  ): T[] {
    const token = this.#unsent;
    this.#unsent = null;
    if (token && event.type === 'score.delta' && event.index === token.index) return [ofToken(token, event)];
    const said = token ? [ofToken(token)] : [];
    if (event.type !== 'token.delta') said.push(...this.#chunks(event).map(ofChunk));
    else if (this.#options.scoredAtOnce) this.#unsent = event;
    else said.push(ofToken(event));
    return said;
  }

  #chunks(event: Exclude<GuardEvent, TokenEvent>): CompletionChunk[] {
    if (event.type === 'score.delta') return this.#scoreChunks(event);
    if (event.type === 'generation.done') return this.#closing(event);
    if (event.type === 'upstream.delta') return this.#passed(event);
    return [this.#chunk({}, { tokens: [], events: [this.#fields(event)] })];
  }

  #tokenChunk(event: TokenEvent, score?: ScoreEvent): CompletionChunk {
    this.#await(event, score);
    const flinch = { tokens: [this.#token(event, score)] };
    // What the client is to read of another part is what the upstream says beside the text.
    if (event.part) return this.#chunk({}, flinch);
    const at = this.#characters;
    if (this.#options.logprobs) this.#characters += charactersOf(event.text);
    const logprobs = this.#options.logprobs ? this.#form.logprobs([this.#logprob(event)], at) : null;
    return this.#chunk({ delta: this.#form.delta(event.text), logprobs }, flinch);
  }

  #tokenJson(event: TokenEvent, score?: ScoreEvent): string {
    if (event.part || this.#options.logprobs) return JSON.stringify(this.#tokenChunk(event, score));
    this.#await(event, score);
    this.#frame ??= this.#framed();
    const { before, between } = this.#frame;
    const delta = JSON.stringify(this.#form.delta(event.text)).slice(1, -1);
    return `${before}${delta},${between}${JSON.stringify(this.#token(event, score))}]}}`;
  }

  /** Of a chunk without either. Where both belong, nothing of an upstream's can stand after them. */
  #framed() {
    const chunk = JSON.stringify(this.#chunk({ delta: {} }, { tokens: [] }));
    const at = chunk.lastIndexOf('"logprobs":null,"finish_reason":null');
    return { before: chunk.slice(0, at), between: chunk.slice(at, -']}}'.length) };
  }

  #await(token: TokenEvent, score: ScoreEvent | undefined): void {
    if (!score && this.#options.guard.enabled) this.#tokens.set(token.index, token);
  }

  #scoreChunks(event: ScoreEvent): CompletionChunk[] {
    const token = this.#tokens.get(event.index);
    this.#tokens.delete(event.index);
    return token ? [this.#chunk({}, { tokens: [this.#token(token, event)] })] : [];
  }

  /** What an upstream says beside the text. Of what has no scores the guard's warnings tell, once. */
  #passed(event: UpstreamEvent): CompletionChunk[] {
    const { logprobs: asked } = this.#options;
    const learnt = this.#learn(event);
    const choices = Array.isArray(event.chunk.choices) ? event.chunk.choices : [];
    if (choices.length === 0) return [];
    return [
      {
        ...this.#header(this.#form.objects.chunk),
        choices: choices.map(({ logprobs, ...choice }) => ({
          ...{ logprobs: asked ? (logprobs ?? null) : null, finish_reason: null },
          ...this.#form.passed(choice),
        })),
        ...(this.#options.includeUsage && { usage: null }),
        flinch: { ...(learnt && { guard: this.#guard }), tokens: [] },
      },
    ];
  }

  /** @returns whether something has no scores of which that was not known */
  #learn({ chunk, unscored }: UpstreamEvent): boolean {
    // An upstream that is flinch has its own `flinch`, which ours takes the place of.
    const { choices: _, usage, flinch: __, ...fields } = chunk;
    this.#extra = { ...this.#extra, ...fields };
    this.#frame = null;
    this.#usage = usage ?? this.#usage;
    const before = this.#unscored.size;
    for (const kind of unscored) this.#unscored.add(kind);
    return this.#options.guard.enabled && this.#unscored.size > before;
  }

  get #guard(): GuardInForce {
    const { guard } = this.#options;
    if (!guard.enabled || this.#unscored.size === 0) return guard;
    const warning = `unscored: ${[...this.#unscored].join(', ')}`;
    return { ...guard, warnings: [...(guard.warnings ?? []), warning] };
  }

  /** At least the first. */
  #choices(passed: readonly UpstreamEvent[]): readonly [AssembledChoice, ...AssembledChoice[]] {
    const { choices } = assemble(passed.map(({ chunk }) => chunk));
    const { logprobs: asked } = this.#options;
    const all = choices.map((choice) => (asked ? choice : { ...choice, logprobs: null }));
    const [first, ...others] = all;
    return first?.index === 0 ? [first, ...others] : [NO_CHOICE, ...all];
  }

  #usageOf({ usage }: DoneEvent): object {
    return { ...(typeof this.#usage === 'object' && this.#usage), ...usageFields(usage) };
  }

  #closing(done: DoneEvent): CompletionChunk[] {
    const { finishReason, verdict } = done;
    const flinch = { tokens: [], ...(verdict && { verdict: verdictFields(verdict) }) };
    const last = this.#chunk({ finishReason }, flinch);
    if (!this.#options.includeUsage) return [last];
    return [last, { ...this.#header(this.#form.objects.chunk), choices: [], usage: this.#usageOf(done) }];
  }

  #chunk(
    choice: { delta?: object; logprobs?: object | null; finishReason?: string },
    flinch: { guard?: GuardInForce; tokens: object[]; events?: object[]; verdict?: object },
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
    return { ...this.#extra, id, object, created: this.#created, model };
  }

  #ofType(events: readonly GuardEvent[], type: GuardEvent['type']): object[] {
    return events.filter((event) => event.type === type).map((event) => this.#fields(event));
  }

  #fields(event: GuardEvent): object {
    return eventFields(event, this.#options.vocabulary);
  }

  #token(token: TokenEvent, score?: ScoreEvent): object {
    return { ...tokenFields(token), ...(score && scoreFields(score, this.#options.vocabulary)) };
  }

  /** Of the first choice, in the order in which it was written. */
  #logprobs(events: readonly GuardEvent[]): object {
    const tokens = events.filter((event) => event.type === 'token.delta');
    if (!this.#form.tellsBeside) {
      const entries = tokens.map((token) => this.#logprob(token));
      return this.#form.logprobs(entries, 0);
    }
    const content: unknown[] = [];
    const refusal: unknown[] = [];
    for (const event of events) {
      if (event.type === 'token.delta' && !event.part) content.push(chatEntry(this.#logprob(event)));
      if (event.type !== 'upstream.delta') continue;
      const [first] = assemble([event.chunk]).choices;
      if (first?.index !== 0) continue;
      for (const each of listOf(first.logprobs?.content)) content.push(each);
      for (const each of listOf(first.logprobs?.refusal)) refusal.push(each);
    }
    const refused = refusal.length > 0;
    return { content: refused && content.length === 0 ? null : content, refusal: refused ? refusal : null };
  }

  #logprob(token: TokenEvent): LogprobEntry {
    return {
      ...this.#openAiToken(token, token.text),
      text: token.text,
      top: token.topLogprobs.map((other) => this.#openAiToken(other)),
    };
  }

  /** @param written its text within the response, for a token that is not known by itself */
  #openAiToken(
    token: (TokenEvent | TopToken) & Pick<Partial<TopToken>, 'bytes'>,
    written?: string,
  ): OpenAiToken {
    const { vocabulary } = this.#options;
    const { id, logprob, bytes } = token;
    const text = vocabulary && id !== null ? vocabulary.tokenText(id) : (token.text ?? written ?? '');
    const given = bytes ?? (vocabulary && id !== null ? vocabulary.tokenBytes(id) : Buffer.from(text));
    return { token: text, logprob, bytes: [...given] };
  }
}

const NO_CHOICE: AssembledChoice = { index: 0, message: {}, logprobs: null, finish_reason: null };
