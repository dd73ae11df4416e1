import { BehaviorSubject, filter, finalize, lastValueFrom, map, Observable, takeUntil, tap } from 'rxjs';
import { EventReader } from '../../src/guard/event-reader.js';
import type { StepOfOther } from '../../src/guard/policy.js';
import { TokenSteps } from '../../src/steps/token-steps.js';
import type { GuardEvent, Usage } from '../../src/stream/events.js';
import { FlowGate } from '../../src/stream/flow-gate.js';
import { ApiError, toApiError } from '../errors/api-error.js';
import type { Prepared } from './served-model.js';

interface EscalateStepsOptions {
  /** The model whose steps are flagged, and the one that writes them in its place. */
  readonly of: string;
  readonly to: string;
  /** Whether the first model goes on after each step of the other; else that one writes the rest. */
  readonly returns: boolean;
  /** Prepares the rest of the answer by the other model, after a text of so many tokens. */
  readonly prepare: (begun: string, tokens: number) => Promise<Prepared>;
  /** Called with the error for which the other model does not write a step, or with `null` if it does. */
  readonly escalated: (error: unknown) => void;
}

/** Flagged steps of one answer that another model writes. */
export class EscalatedSteps {
  readonly #options: EscalateStepsOptions;
  /** The client has left, or the answer is over. */
  readonly #over = new BehaviorSubject(false);
  /** Held by a client that does not keep up. */
  #gate: FlowGate | null = null;
  #asked = false;
  #promptTokens: number | null = 0;
  #completionTokens = 0;

  constructor(options: EscalateStepsOptions) {
    this.#options = options;
  }

  /** The step that the other model writes on a text, or all that it writes. */
  async write(begun: string, kept: number): Promise<StepOfOther> {
    const { to, returns, prepare, escalated } = this.#options;
    try {
      const prepared = await prepare(begun, kept);
      this.#asked = true;
      const tokens = this.#promptTokens;
      const { promptTokens } = prepared;
      this.#promptTokens = tokens === null || promptTokens === null ? null : tokens + promptTokens;
      const over = this.#over.pipe(filter(Boolean));
      const counted = (event: GuardEvent): void => {
        if (isWritten(event)) this.#completionTokens += 1;
        if (event.type !== 'generation.done') return;
        this.#promptTokens = event.usage.promptTokens ?? this.#promptTokens;
        this.#completionTokens = event.usage.completionTokens ?? this.#completionTokens;
      };
      if (!returns) {
        const rest = await begunRest(prepared, counted, { over, gate: new FlowGate(this.#gate) });
        if (!this.#over.value) escalated(null);
        return { to, failed: null, text: '', ...(rest && { rest }) };
      }
      const text = await lastValueFrom(
        firstStep(prepared, () => {
          this.#completionTokens += 1;
        }).pipe(takeUntil(over)),
        {
          defaultValue: '',
        },
      );
      if (!this.#over.value) escalated(null);
      // The next token brings its own space.
      return { to, failed: null, text: text.replace(/(?<![^\S\n])[^\S\n]+$/, '') };
    } catch (error) {
      if (!this.#over.value) escalated(error);
      return { to, failed: toApiError(error).body.code, text: '' };
    }
  }

  /** The answer with the usage of both models. */
  in(answer: Prepared): Prepared {
    const { goesOn: _, ...prepared } = answer;
    const { of: name, to, returns } = this.#options;
    const withUsage = (event: GuardEvent): GuardEvent => {
      if (event.type !== 'generation.done' || !this.#asked) return event;
      const other: Usage = { promptTokens: this.#promptTokens, completionTokens: this.#completionTokens };
      const { generatedTokens, ...usage } = event.usage;
      const written = returns ? undefined : generatedTokens;
      const own = written === undefined ? event.usage : { ...usage, completionTokens: written };
      return { ...event, usageByModel: { [name]: own, [to]: other } };
    };
    return {
      ...prepared,
      guard: { ...answer.guard, action: 'escalate' },
      start: (gate) => {
        this.#gate = gate;
        return answer.start(gate).pipe(
          map(withUsage),
          finalize(() => this.#over.next(true)),
        );
      },
    };
  }
}

/**
 * The events of a text, once its first token is there: until then it may fail. `null` for one without any.
 * @param counted called for each event that is read
 * @param over when nobody reads it any longer
 */
async function begunRest(
  { start }: Prepared,
  counted: (event: GuardEvent) => void,
  { over, gate }: { readonly over: Observable<unknown>; readonly gate: FlowGate },
): Promise<AsyncIterable<GuardEvent> | null> {
  const events = start(gate).pipe(
    tap((event) => counted(event)),
    takeUntil(over),
  );
  const reader = new EventReader(events, gate);
  for (let event = await reader.next(); event; event = await reader.next()) {
    if (isWritten(event)) return readFrom(event, reader);
  }
  return null;
}

const isWritten = (event: GuardEvent): boolean => event.type === 'token.delta' && !event.part;

async function* readFrom(first: GuardEvent, reader: EventReader<GuardEvent>): AsyncGenerator<GuardEvent> {
  try {
    for (let event: GuardEvent | null = first; event; event = await reader.next()) yield event;
  } catch (error) {
    // No fault of the server that wrote the beginning, which would be avoided for an error of a server.
    const { body, status, retryAfterSeconds } = toApiError(error);
    throw new ApiError(body.code, body.message, body.param, { status, retryAfterSeconds });
  } finally {
    reader.close();
  }
}

/**
 * The first step of a text, once it is complete; what comes after it is not awaited.
 * @param counted called for each token that is read
 */
function firstStep({ start }: Prepared, counted: () => void): Observable<string> {
  return new Observable((subscriber) => {
    const steps = new TokenSteps();
    let text = '';
    const tell = (step: string): void => {
      subscriber.next(step);
      subscriber.complete();
    };
    subscriber.add(
      start(new FlowGate()).subscribe({
        next: (event) => {
          if (event.type !== 'token.delta' || event.part) return;
          counted();
          text += event.text;
          const [first] = steps.push(event.text);
          if (first) tell(first.text);
        },
        error: (error: unknown) => subscriber.error(error),
        complete: () => tell(text),
      }),
    );
  });
}
