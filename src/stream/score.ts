import { Observable, type OperatorFunction } from 'rxjs';
import type { Part } from '../steps/text-part.js';
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
import { WaitingBlocks } from './waiting-blocks.js';

/** Scores one response, such as a `SequenceScorer`. */
export interface TokenScorer {
  /** Takes the next tokens of the response and scores those that are due. */
  push(tokens: readonly ScorableToken[]): Promise<readonly Scored[]>;
  /** Scores what is left, where the response ends or a block does. */
  finish(): Promise<readonly Scored[]>;
  /** Takes the next tokens without scoring them, when none is left to score: those that follow may need them. */
  passOver(tokens: readonly ScorableToken[]): Promise<readonly Scored[]>;
  close(): void;
}

/** A token; its id is `null` if it is unknown, which few scorers accept. */
export interface ScorableToken extends Omit<NewToken, 'id'> {
  readonly id: number | null;
}

/** A token's scores; the event adds the pass. */
export type Scored = Pick<ScoreEvent, 'index' | 'scores' | 'skipped' | 'reason' | 'missing' | 'rival'>;

/**
 * The id of a token of a known vocabulary, such as one that an engine writes.
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
   * Asked of each token in turn, mostly by its text: no pass scores it together with the token before it. A guard's passes
   * end where steps may begin, so that what it retracts has no part in the scores of what stays.
   */
  readonly begins?: (text: string, token: TokenEvent) => boolean;
  /**
   * Tokens that may wait for a pass, at least `block`. Beyond them whole blocks are passed over ({@link WaitingBlocks}),
   * and no token and no source ever waits for scores. `Infinity`: none is passed over, however long that takes. Without it,
   * tokens and source wait.
   */
  readonly lagTokens?: number | undefined;
}

/** How long after the end of the text passes may still begin, with finite `lagTokens`; then what waits is passed over. */
export const END_WAIT_MS = 5000;

/** Blocks that may wait: a source that ignores the gate ends in an error instead of in exhausted memory. */
const MAX_WAITING_BLOCKS = 64;

/**
 * Adds to each token its scores, computed on the text so far while the next tokens are already written.
 *
 * A token is emitted at once, unless the first token that lacks scores is more than `block` tokens back: then it
 * waits, at the longest for its own. So scores follow their token by at most `block` tokens, and all precede `generation.done` and completion. With
 * `lagTokens`, every token is emitted at once, and each is scored or passed over (`reason: 'lag'`); the end waits for
 * the pass that runs, and for those of at most `lagTokens` tokens and the last block that begin within
 * {@link END_WAIT_MS}. A failure of scoring is an error of the stream, and ends the generation.
 *
 * @example
 * const open = () => SequenceScorer.open(engine, request.promptIds, scoring);
 * generate(engine, request, gate).pipe(score({ open, block: 8, gate }));
 */
export function score(options: ScoreOptions): OperatorFunction<WrittenEvent, GenerationEvent> {
  const { block, gate, from = 0, begins = () => false, lagTokens } = options;
  const endWaitMs = lagTokens === Number.POSITIVE_INFINITY ? lagTokens : END_WAIT_MS;
  const pass = Number.isFinite(block) ? 'stream' : 'final';
  return (source) =>
    new Observable((subscriber) => {
      const opened = options.open();
      const waiting: (TokenEvent | UpstreamEvent)[] = [];
      const blocks = lagTokens === undefined ? null : new WaitingBlocks<ScorableToken>(block, lagTokens);
      // Both count from the start of the response.
      let received = from;
      let scored = from;
      let done: DoneEvent | null = null;
      let deadline = Number.POSITIVE_INFINITY;
      /** Parts of the tokens that are not of the text and whose scores have not come. */
      const parts = new Map<number, Part>();
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
          for (const { index, scores, skipped, reason, missing, rival } of await run(await opened)) {
            const why = { ...(reason && { reason }), ...(missing && { missing }) };
            const part = parts.get(index);
            const of = part && { part };
            while (waiting[0] && indexOf(waiting[0]) <= index) subscriber.next(waiting.shift()!);
            subscriber.next({ type: 'score.delta', index, ...of, pass, scores, skipped, ...why, rival });
            parts.delete(index);
            scored = Math.max(scored, index + 1);
          }
          advance();
        });
        passes.catch((error: unknown) => subscriber.error(error));
      };

      const receive = (token: TokenEvent): void => {
        if (token.part) parts.set(token.index, token.part);
        if (blocks) {
          const whole = blocks.push(newToken(token, begins(token.text, token)));
          subscriber.next(token);
          if (whole) enqueue((scorer) => scoreNext(blocks, scorer, deadline));
          return;
        }
        waiting.push(token);
        received += 1;
        if (received - scored > MAX_WAITING_BLOCKS * block) {
          const message = `score: the source is ${MAX_WAITING_BLOCKS} blocks ahead of scoring`;
          subscriber.error(new RangeError(message));
          return;
        }
        const begin = begins(token.text, token);
        enqueue((scorer) => scorer.push([newToken(token, begin)]));
        advance();
      };

      passes.catch((error: unknown) => subscriber.error(error));
      const subscription = source.subscribe({
        next: (event) => {
          if (event.type === 'token.delta') receive(event);
          else if (event.type === 'generation.done') done = event;
          else if (blocks) subscriber.next(event);
          else {
            waiting.push(event);
            advance();
          }
        },
        error: (error: unknown) => subscriber.error(error),
        complete: () => {
          deadline = performance.now() + endWaitMs;
          if (!blocks) enqueue((scorer) => scorer.finish());
          else if (blocks.end()) enqueue((scorer) => scoreNext(blocks, scorer, deadline));
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
          () => {}, // the scorer never opened; the subscriber got the error
        );
      };
    });
}

/** Events beside the text wait with the tokens before them. */
const indexOf = (event: TokenEvent | UpstreamEvent): number =>
  event.type === 'token.delta' ? event.index : event.at - 1;

/** Scores the next of the blocks that wait, or passes it over: each after the deadline, in `performance.now()`. */
async function scoreNext(
  blocks: WaitingBlocks<ScorableToken>,
  scorer: TokenScorer,
  deadline: number,
): Promise<readonly Scored[]> {
  const block = blocks.take();
  if (!block) return [];
  if (block.passedOver || performance.now() >= deadline) {
    const passed = await scorer.passOver(block.tokens);
    return passed.map((score) => (score.skipped.length > 0 ? { ...score, reason: 'lag' } : score));
  }
  const scores: Scored[] = [];
  for (const token of block.tokens) scores.push(...(await scorer.push([token])));
  return [...scores, ...(await scorer.finish())];
}

function newToken({ id, logprob }: TokenEvent, begins: boolean): ScorableToken {
  return { id, begins, ...(logprob !== null && { logprob }) };
}
