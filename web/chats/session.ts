import type { GenerationRequest, GuardRequest, Message, ResumePoint } from 'flinch-client';
import { type Answer, answerOf, answerText, FlinchError, isWritten } from 'flinch-client';
import type { GenerationEvent } from 'flinch-client/protocol';
import { catchError, concat, from, type Observable, Subscription, tap } from 'rxjs';
import type { Sampling } from '../page-settings.js';
import { answerIn, durationOf, type RecordedEvent, type Recording } from './recording.js';

/** A question with one of its answers. */
export interface Exchange {
  readonly id: string;
  /** The place in the conversation: the same for all answers there. */
  readonly turn: string;
  readonly question: string;
  readonly model: string;
  readonly answer: Answer;
  /** Events so far; the list grows. */
  readonly events: readonly RecordedEvent[];
  /** Earlier exchanges that the model was not told, because its context has no room for them. */
  readonly leftOut: number;
}

/** A place in the conversation, with the answers that were drawn for it. */
export interface Turn {
  readonly id: string;
  /** In the order in which they were asked for. */
  readonly variants: readonly Exchange[];
  /** The one that is on the page, and that the model is told. */
  readonly shown: Exchange;
}

export interface AskOptions extends Sampling {
  readonly model: string;
  readonly guard: GuardRequest;
  /** Absent: none. */
  readonly system?: string;
  /** Most probable tokens to list for each; absent: as many as the card shows, or fewer where there are fewer. */
  readonly topLogprobs?: number;
}

export interface SessionOptions {
  readonly generate: (request: GenerationRequest) => Observable<GenerationEvent>;
  /** The rest of an answer that was under way when the page was loaded. */
  readonly resume: (point: ResumePoint) => Observable<GenerationEvent>;
  readonly nowMs: () => number;
  readonly changed: (exchange: Exchange) => void;
}

/** Part of the earlier exchanges that is left out at a time where the context has no room for them. */
const LEFT_OUT_SHARE = 0.25;

/** Most probable tokens that the card of a token lists. */
export const ALTERNATIVES = 5;

/** The exchanges of this page. Knows no DOM and no socket. */
export class Session {
  readonly #options: SessionOptions;
  readonly #turns = new Map<string, Turn>();
  #count = 0;
  #running: Subscription | null = null;
  /** All answers of which something is to come. */
  #open = new Subscription();

  constructor(options: SessionOptions) {
    this.#options = options;
  }

  get turns(): Turn[] {
    return [...this.#turns.values()];
  }

  /** Those that are shown. */
  get exchanges(): Exchange[] {
    return this.turns.map(({ shown }) => shown);
  }

  /** The exchange whose answer is being written; there is at most one. */
  get current(): Exchange | null {
    return this.exchanges.find(({ answer }) => !isWritten(answer)) ?? null;
  }

  /**
   * The model is told the earlier questions and answers, too. In a turn that exists, the answer is another variant, and
   * the model is told only what came before the turn: with its earlier answer it would likely repeat that one.
   */
  ask(question: string, options: AskOptions, turn: string): void {
    const { generate, nowMs } = this.#options;
    const { model, guard, system, topLogprobs = ALTERNATIVES, ...sampling } = options;
    const earlier = this.#before(turn).filter(({ answer }) => isWritten(answer) && answer.error === null);
    const id = this.#nextId();
    const events: RecordedEvent[] = [];
    const start = nowMs();
    const settings = {
      model,
      guard,
      ...(topLogprobs > 0 && { top_logprobs: topLogprobs }),
      // An upstream's capabilities may change after the page has asked for them.
      clamp: true,
      ...sampling,
    };
    let leftOut = 0;
    const eventStream = (): Observable<GenerationEvent> => {
      const messages: Message[] = [
        ...(system === undefined ? [] : [{ role: 'system' as const, content: system }]),
        ...messagesOf(earlier.slice(leftOut)),
        { role: 'user', content: question },
      ];
      return generate({ ...settings, messages }).pipe(
        catchError((error: unknown) => {
          const isFull = error instanceof FlinchError && error.code === 'context_length_exceeded';
          if (!isFull || leftOut === earlier.length) throw error;
          leftOut += Math.ceil((earlier.length - leftOut) * LEFT_OUT_SHARE);
          return eventStream();
        }),
      );
    };
    this.#write(
      eventStream().pipe(tap((event) => events.push({ atMs: nowMs() - start, event }))),
      (answer) => ({ id, turn, question, model, answer, events, leftOut }),
    );
  }

  /** Goes on with an answer that was being written when the page was left. */
  resume(recording: Recording, turn: string): void {
    const { question, model } = recording;
    const events = [...recording.events];
    const point = placeAfter(events);
    if (!point) return;
    const id = this.#nextId();
    const start = this.#options.nowMs() - durationOf(recording);
    const rest = this.#options
      .resume(point)
      .pipe(tap((event) => events.push({ atMs: this.#options.nowMs() - start, event })));
    this.#write(concat(from(recording.events.map(({ event }) => event)), rest), (answer) => ({
      id,
      turn,
      question,
      model,
      answer,
      events,
      leftOut: 0,
    }));
  }

  #write(events: Observable<GenerationEvent>, exchangeOf: (answer: Answer) => Exchange): void {
    const subscription = new Subscription();
    this.#running = subscription;
    this.#open.add(subscription);
    subscription.add(
      events.pipe(answerOf()).subscribe((answer) => {
        const exchange = exchangeOf(answer);
        // Scores may follow the text of an answer that was deleted.
        if (isWritten(answer) && !this.#has(exchange)) subscription.unsubscribe();
        else this.#set(exchange);
      }),
    );
  }

  /** Cancels the answer under way, which stays as it stands. */
  stop(): void {
    const exchange = this.current;
    if (!exchange) return;
    this.#running?.unsubscribe();
    this.#set({ ...exchange, answer: { ...exchange.answer, phase: 'done', finishReason: 'cancelled' } });
  }

  /** Shows an answer of another time. */
  open(recording: Recording, turn: string): void {
    const { question, model, events } = recording;
    const answer = answerIn(recording);
    const whole = isWritten(answer)
      ? { ...answer, phase: answer.phase === 'failed' ? answer.phase : ('done' as const) }
      : { ...answer, phase: 'done' as const, finishReason: 'cancelled' as const };
    this.#set({ id: this.#nextId(), turn, question, model, answer: whole, events, leftOut: 0 });
  }

  /** Shows another answer of its turn. */
  show(exchange: Exchange): void {
    const turn = this.#turns.get(exchange.turn);
    if (turn) this.#turns.set(turn.id, { ...turn, shown: exchange });
  }

  remove(turn: string): void {
    this.#turns.delete(turn);
  }

  /** Forgets all exchanges; an answer under way is cancelled. */
  clear(): void {
    this.#open.unsubscribe();
    this.#open = new Subscription();
    this.#turns.clear();
  }

  /** Never used twice: a view of an earlier chat must not be taken for one of this. */
  #nextId(): string {
    return `exchange-${this.#count++}`;
  }

  #before(turn: string): Exchange[] {
    const place = this.turns.findIndex(({ id }) => id === turn);
    return place < 0 ? this.exchanges : this.exchanges.slice(0, place);
  }

  #has({ id, turn }: Exchange): boolean {
    return this.#turns.get(turn)?.variants.some((each) => each.id === id) === true;
  }

  /** An earlier attempt without a token is not kept. A further answer that is asked for is shown, whatever follows others. */
  #set(exchange: Exchange): void {
    const { id, turn } = exchange;
    const before = this.#turns.get(turn);
    const variants = [...(before?.variants ?? [])];
    const place = variants.findIndex((each) => each.id === id);
    const all =
      place < 0
        ? [...variants.filter(({ answer }) => answer.tokens.length > 0), exchange]
        : variants.with(place, exchange);
    const shown = before && place >= 0 && before.shown.id !== id ? before.shown : exchange;
    this.#turns.set(turn, { id: turn, variants: all, shown });
    this.#options.changed(exchange);
  }
}

/** After the last of these events; `null` for an answer that had not begun. */
function placeAfter(events: readonly RecordedEvent[]): ResumePoint | null {
  const created = events.find(({ event }) => event.type === 'generation.created')?.event;
  const last = events.at(-1)?.event;
  if (created?.type !== 'generation.created' || !last) return null;
  return { responseId: created.response_id, epoch: created.epoch, offset: last.offset + 1 };
}

const messagesOf = (exchanges: readonly Exchange[]): Message[] =>
  exchanges.flatMap(({ question, answer }) => [
    { role: 'user', content: question },
    { role: 'assistant', content: answerText(answer) },
  ]);

export const recordingOf = ({ question, model, events, answer }: Exchange): Recording => ({
  question,
  model,
  events,
  error: answer.error,
});

/** Tokens per second between the first and the last; null until there are two at different times. */
export function tokensPerSecond(events: readonly RecordedEvent[]): number | null {
  const times = events.flatMap(({ atMs, event }) => (event.type === 'token.delta' ? [atMs] : []));
  const [first = 0, last = 0] = [times[0], times.at(-1)];
  return last > first ? ((times.length - 1) * 1000) / (last - first) : null;
}
