import type { Observable } from 'rxjs';
import type { Engine } from '../engine/engine.js';
import type { GenerateRequest, Generation } from '../engine/generation.js';
import { blockOf } from '../uncertainty/schedule.js';
import { SequenceScorer } from '../uncertainty/sequence-scorer.js';
import type { Scoring } from '../uncertainty/settings.js';
import type { Branch, Continuation } from './branch.js';
import type { GuardEvent } from './events.js';
import type { FlowGate } from './flow-gate.js';
import { readTokens } from './generate.js';
import type { Judging } from './guarded-branch.js';
import { byModel, score } from './score.js';
import { TextSoFar } from './text-so-far.js';

export interface EngineBranchOptions extends Judging {
  readonly scoring: Scoring;
}

interface Shared {
  readonly engine: Engine;
  readonly request: GenerateRequest;
  readonly options: EngineBranchOptions;
}

/** A branch that the engine writes and scores. Both sides continue from copies of their keys and values. */
export class EngineBranch implements Branch {
  readonly #shared: Shared;
  readonly #generation: Generation;
  readonly #scorer: SequenceScorer;
  readonly #text: TextSoFar;

  private constructor(shared: Shared, generation: Generation, scorer: SequenceScorer, text: TextSoFar) {
    this.#shared = shared;
    this.#generation = generation;
    this.#scorer = scorer;
    this.#text = text;
  }

  /** @throws EngineError; SettingsError */
  static async open(
    engine: Engine,
    request: GenerateRequest,
    options: EngineBranchOptions,
  ): Promise<EngineBranch> {
    const { promptIds, maxTokens } = request;
    const { scoring, forks } = options;
    const shared = { engine, request: { ...request, forks }, options };
    // The scorer first: a text that cannot be scored is refused before any token of it is out.
    const scorer = await SequenceScorer.open(engine, promptIds, scoring, promptIds.length + maxTokens, forks);
    try {
      const generation = await engine.generate(shared.request);
      return new EngineBranch(shared, generation, scorer, TextSoFar.begin());
    } catch (error) {
      scorer.close();
      throw error;
    }
  }

  get promptTokens(): number {
    return this.#shared.request.promptIds.length;
  }

  get written(): number {
    return this.#generation.written;
  }

  events(gate: FlowGate): Observable<GuardEvent> {
    const { scoring, rate, judge } = this.#shared.options;
    const live = (begins: (text: string) => boolean) =>
      readTokens(this.#generation, this.promptTokens, gate).pipe(
        score({
          open: async () => ({ ...byModel(this.#scorer), close: () => {} }), // it may be forked after its end
          block: blockOf(scoring.schedule),
          gate,
          from: this.#text.keep,
          begins,
        }),
        rate,
      );
    return this.#text.follow(live, judge);
  }

  fits(keep: number, insert: string): boolean {
    const { engine, request } = this.#shared;
    return keep + engine.checkpoint.tokenizer.encode(insert).length < request.maxTokens;
  }

  async fork({ keep, step, from, insert, temperature, seed }: Continuation): Promise<EngineBranch> {
    const { engine, request } = this.#shared;
    const sampling = { ...request.sampling, seed, ...(temperature !== undefined && { temperature }) };
    const ids = insert === undefined ? [] : engine.checkpoint.tokenizer.encode(insert);
    const scorer = await this.#scorer.fork(keep);
    try {
      const generation = await this.#generation.fork({ keep, insert: ids, sampling });
      return new EngineBranch(this.#shared, generation, scorer, this.#text.upTo({ keep, step, from }));
    } catch (error) {
      scorer.close();
      throw error;
    }
  }

  close(): void {
    this.#generation.cancel();
    this.#scorer.close();
  }
}
