import { Observable, type OperatorFunction } from 'rxjs';
import type { NewToken } from '../uncertainty/sequence-scorer.js';
import type {
  DoneEvent,
  GenerationEvent,
  ScoreEvent,
  TokenEvent,
  UpstreamEvent,
  WrittenEvent,
} from './events.js';
import type { FlowGate } from './flow-gate.js';

/** What scores one response, such as a `SequenceScorer`. */
export interface TokenScorer {
  /** Takes the next tokens of the response and scores those that are due. */
  push(tokens: readonly ScorableToken[]): Promise<readonly Scored[]>;
  /** The response has ended: scores what is left. */
  finish(): Promise<readonly Scored[]>;
  close(): void;
}

/** A token, `null` for one of which nobody knows which it is: few scorers take that. */
export interface ScorableToken extends Omit<NewToken, 'id'> {
  readonly id: number | null;
}

/** What the scorer tells of a token; the event adds which pass it was. */
export type Scored = Pick<ScoreEvent, 'index' | 'scores' | 'skipped' | 'missing' | 'rival'>;

/**
 * The id of a token whose vocabulary is known, as those are that an engine writes.
 * @throws RangeError for another
 */
export function modelId({ id, index }: Pick<TokenEvent, 'id' | 'index'>): number {
  if (id === null) throw new RangeError(`token ${index} has no id`);
  return id;
}

export interface ScoreOptions {
  /** Opens the text that the tokens belong to; called on subscription. */
  readonly open: () => Promise<TokenScorer>;
  /** The most tokens that a score may be behind, the schedule's block. */
  readonly block: number;
  /** Held while scoring is more than a block behind. */
  readonly gate: FlowGate;
  /** Index of the first token. Default 0. */
  readonly from?: number;
  /**
   * Asked of each token in turn, by its text: no pass scores it together with the token before it. A guard's passes
   * end where steps may begin, so that what it retracts has no part in the scores of what stays.
   */
  readonly begins?: (text: string) => boolean;
}

/** Blocks that may wait: a source that ignores the gate ends in an error instead of in exhausted memory. */
const MAX_WAITING_BLOCKS = 64;

/**
 * Adds to each token its scores, computed on the text so far while the next tokens are already written.
 *
 * A token is emitted at once, unless the first token that lacks scores is more than `block` tokens back: then it
 * waits. So scores follow their token by at most `block` tokens, and all precede `generation.done` and completion. A
 * failure of scoring is an error of the stream, and ends the generation.
 *
 * @example
 * const open = () => SequenceScorer.open(engine, request.promptIds, scoring);
 * generate(engine, request, gate).pipe(score({ open, block: 8, gate }));
 */
export function score(options: ScoreOptions): OperatorFunction<WrittenEvent, GenerationEvent> {
  const { block, gate, from = 0, begins = () => false } = options;
  const pass = Number.isFinite(block) ? 'stream' : 'final';
  return (source) =>
    new Observable((subscriber) => {
      const opened = options.open();
      const waiting: (TokenEvent | UpstreamEvent)[] = [];
      // Both count from the start of the response.
      let received = from;
      let scored = from;
      let done: DoneEvent | null = null;
      let release: (() => void) | null = null;

      /** Emits what may be emitted; afterwards the subscriber may be gone. */
      const advance = (): void => {
        while (waiting[0] && indexOf(waiting[0]) - scored <= block) subscriber.next(waiting.shift()!);
        if (!subscriber.closed && received - scored >= 2 * block) {
          release ??= gate.hold();
        } else {
          release?.();
          release = null;
        }
      };

      // Passes run one after the other; a failure ends the chain and the stream.
      let passes: Promise<void> = opened.then(() => {});
      const enqueue = (run: (scorer: TokenScorer) => Promise<readonly Scored[]>): void => {
        passes = passes.then(async () => {
          if (subscriber.closed) return;
          for (const { index, scores, skipped, missing, rival } of await run(await opened)) {
            const unknown = missing && { missing };
            subscriber.next({ type: 'score.delta', index, pass, scores, skipped, ...unknown, rival });
            scored = Math.max(scored, index + 1);
          }
          advance();
        });
        passes.catch((error: unknown) => subscriber.error(error));
      };

      const receive = (token: TokenEvent): void => {
        waiting.push(token);
        received += 1;
        if (received - scored > MAX_WAITING_BLOCKS * block) {
          const message = `score: the source is ${MAX_WAITING_BLOCKS} blocks ahead of scoring`;
          subscriber.error(new RangeError(message));
          return;
        }
        const begin = begins(token.text);
        enqueue((scorer) => scorer.push([newToken(token, begin)]));
        advance();
      };

      passes.catch((error: unknown) => subscriber.error(error));
      const subscription = source.subscribe({
        next: (event) => {
          if (event.type === 'token.delta') receive(event);
          else if (event.type === 'generation.done') done = event;
          else {
            waiting.push(event);
            advance();
          }
        },
        error: (error: unknown) => subscriber.error(error),
        complete: () => {
          enqueue((scorer) => scorer.finish());
          passes.then(
            () => {
              if (done) subscriber.next(done);
              subscriber.complete();
            },
            () => {}, // reported above
          );
        },
      });

      return () => {
        subscription.unsubscribe();
        release?.();
        opened.then(
          (scorer) => scorer.close(),
          () => {}, // it never opened; the subscriber was told
        );
      };
    });
}

/** What is beside the text waits with the tokens before it. */
const indexOf = (event: TokenEvent | UpstreamEvent): number =>
  event.type === 'token.delta' ? event.index : event.at - 1;

function newToken({ id, logprob }: TokenEvent, begins: boolean): ScorableToken {
  return { id, begins, ...(logprob !== null && { logprob }) };
}
