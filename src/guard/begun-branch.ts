import { map, Observable } from 'rxjs';
import type { ScoreEvent, TokenEvent, WrittenEvent } from '../stream/events.js';
import type { FlowGate } from '../stream/flow-gate.js';
import type { Begun } from './begun.js';
import { type Branch, type BranchJudge, type BranchScorer, type BranchWriter, branchOf } from './branch.js';
import { TextSoFar } from './text-so-far.js';

/**
 * A branch from its first token, or one that goes on where another process has left it. Then its own events begin with
 * the first step that is not settled: tokens as they were told, with the scores that were told of them.
 *
 * @param writer with `begun`, one that writes what comes after its tokens
 * @param scorer with `begun`, one that has read the tokens before its place, and scored none
 */
export function branchFrom(
  begun: Begun | undefined,
  writer: BranchWriter,
  scorer: BranchScorer,
  judge: BranchJudge,
): Branch {
  if (!begun) return branchOf(writer, scorer, judge);
  const text = TextSoFar.after(begun, judge.forks !== 0);
  return branchOf(new ToldWriter(writer, begun), toldScorer(scorer, begun), judge, text);
}

/** Gives tokens out that were written before, then has others write. */
class ToldWriter implements BranchWriter {
  readonly #writer: BranchWriter;
  readonly #told: readonly TokenEvent[];

  constructor(writer: BranchWriter, { tokens, place }: Begun) {
    this.#writer = writer;
    this.#told = tokens.slice(place.from);
  }

  get promptTokens(): number {
    return this.#writer.promptTokens;
  }

  get cachedTokens(): number | undefined {
    return this.#writer.cachedTokens;
  }

  /** Without those that were told, which the branch counts elsewhere. */
  get written(): number {
    return this.#writer.written;
  }

  tokens(gate: FlowGate): Observable<WrittenEvent> {
    return new Observable((subscriber) => {
      const give = async (): Promise<void> => {
        for (const token of this.#told) {
          if (!gate.open) await gate.opened();
          if (subscriber.closed) return;
          subscriber.next(token);
        }
        subscriber.add(this.#writer.tokens(gate).subscribe(subscriber));
      };
      give().catch((error: unknown) => subscriber.error(error));
    });
  }

  fits(keep: number, insert: string): boolean {
    return this.#writer.fits(keep, insert);
  }

  fork(...continuation: Parameters<BranchWriter['fork']>): Promise<BranchWriter> {
    return this.#writer.fork(...continuation);
  }

  close(): void {
    this.#writer.close();
  }
}

/** Scores that were told stand: a writer may not say again what they were made of. */
function toldScorer(scorer: BranchScorer, { scores }: Begun): BranchScorer {
  return {
    score: (scoring) => (source) => {
      const told = new Map<number, ScoreEvent>(scores);
      return scorer
        .score(scoring)(source)
        .pipe(
          map((event) => {
            const known = event.type === 'score.delta' ? told.get(event.index) : undefined;
            if (!known) return event;
            told.delete(known.index);
            const { risk: _, ...score } = known; // it is rated anew
            return score;
          }),
        );
    },
    fork: (keep) => scorer.fork(keep),
    close: () => scorer.close(),
  };
}
