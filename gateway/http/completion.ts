import type { DoneEvent, GuardEvent, ScoreEvent, TokenEvent, TopToken } from '../../src/stream/events.js';
import {
  eventFields,
  scoreFields,
  tokenFields,
  usageFields,
  type Vocabulary,
} from '../../src/stream/wire.js';
import type { GuardInForce } from '../models/served-model.js';

export interface CompletionOptions {
  readonly id: string;
  readonly model: string;
  readonly vocabulary: Vocabulary;
  readonly guard: GuardInForce;
  /** Whether the client asked for OpenAI's `logprobs`. */
  readonly logprobs: boolean;
  /** Whether a last chunk is to carry the usage; then the others carry `null`, as OpenAI's do. */
  readonly includeUsage: boolean;
}

/**
 * One chat completion in OpenAI's shapes, with what flinch knows beside `choices`. A delta cannot be taken back: the
 * events must be those of a guard that retracts nothing, or that holds back what it may retract.
 */
export class Completion {
  readonly #options: CompletionOptions;
  readonly #created = Math.floor(Date.now() / 1000);
  /** By index: a score's chunk repeats its token. */
  readonly #tokens: TokenEvent[] = [];

  constructor(options: CompletionOptions) {
    this.#options = options;
  }

  /** The whole response as one `chat.completion`. */
  whole(events: readonly GuardEvent[]) {
    const tokens = events.filter((event) => event.type === 'token.delta');
    const scores = new Map(
      events.flatMap((event) => (event.type === 'score.delta' ? [[event.index, event]] : [])),
    );
    const done = events.find((event) => event.type === 'generation.done');
    const { guard } = this.#options;
    return {
      ...this.#header('chat.completion'),
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: tokens.map(({ text }) => text).join(''), refusal: null },
          logprobs: this.#options.logprobs
            ? { content: tokens.map((token) => this.#logprob(token)), refusal: null }
            : null,
          finish_reason: done?.finishReason ?? null,
        },
      ],
      ...(done && { usage: usageFields(done.usage) }),
      flinch: {
        guard,
        tokens: tokens.map((token) => this.#token(token, scores.get(token.index))),
        ...(guard.enabled && {
          steps: this.#ofType(events, 'step.done'),
          flagged: this.#ofType(events, 'step.flagged'),
          rollbacks: this.#ofType(events, 'rollback.done'),
          mismatches: this.#ofType(events, 'scorer.mismatch'),
        }),
      },
    };
  }

  /** The chunk before all others. */
  opening() {
    return this.#chunk(
      { delta: { role: 'assistant', content: '' } },
      { guard: this.#options.guard, tokens: [] },
    );
  }

  chunks(event: GuardEvent): object[] {
    if (event.type === 'token.delta') return [this.#tokenChunk(event)];
    if (event.type === 'score.delta') return this.#scoreChunks(event);
    if (event.type === 'generation.done') return this.#closing(event);
    return [this.#chunk({ delta: {} }, { tokens: [], events: [this.#fields(event)] })];
  }

  #tokenChunk(event: TokenEvent): object {
    this.#tokens[event.index] = event;
    const logprobs = this.#options.logprobs ? { content: [this.#logprob(event)], refusal: null } : null;
    return this.#chunk({ delta: { content: event.text }, logprobs }, { tokens: [this.#token(event)] });
  }

  #scoreChunks(event: ScoreEvent): object[] {
    const token = this.#tokens[event.index];
    return token ? [this.#chunk({ delta: {} }, { tokens: [this.#token(token, event)] })] : [];
  }

  #closing({ finishReason, usage }: DoneEvent): object[] {
    const last = this.#chunk({ delta: {}, finishReason }, { tokens: [] });
    if (!this.#options.includeUsage) return [last];
    return [last, { ...this.#header('chat.completion.chunk'), choices: [], usage: usageFields(usage) }];
  }

  #chunk(
    choice: { delta: object; logprobs?: object | null; finishReason?: string },
    flinch: { guard?: GuardInForce; tokens: object[]; events?: object[] },
  ): object {
    const { delta, logprobs = null, finishReason = null } = choice;
    return {
      ...this.#header('chat.completion.chunk'),
      choices: [{ index: 0, delta, logprobs, finish_reason: finishReason }],
      ...(this.#options.includeUsage && { usage: null }),
      flinch,
    };
  }

  #header(object: string) {
    const { id, model } = this.#options;
    return { id, object, created: this.#created, model };
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

  #logprob(token: TokenEvent): object {
    return {
      ...this.#openAiToken(token, token.text),
      top_logprobs: token.topLogprobs.map((other) => this.#openAiToken(other)),
    };
  }

  /** @param written its text within the response, for a token that is not known by itself */
  #openAiToken(token: (TokenEvent | TopToken) & Pick<Partial<TopToken>, 'bytes'>, written?: string): object {
    const { vocabulary } = this.#options;
    const { id, logprob, bytes } = token;
    const text = vocabulary && id !== null ? vocabulary.tokenText(id) : (token.text ?? written ?? '');
    const given = bytes ?? (vocabulary && id !== null ? vocabulary.tokenBytes(id) : Buffer.from(text));
    return { token: text, logprob, bytes: [...given] };
  }
}
