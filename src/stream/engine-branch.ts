import { concat, filter, from, type Observable, tap } from 'rxjs';
import type { Engine } from '../engine/engine.js';
import type { GenerateRequest, Generation } from '../engine/generation.js';
import { blockOf } from '../uncertainty/schedule.js';
import type { Scoring } from '../uncertainty/settings.js';
import { TextScorer } from '../uncertainty/text-scorer.js';
import type { Branch, Continuation } from './branch.js';
import type { GenerationEvent, GuardEvent, ScoreEvent, TokenEvent } from './events.js';
import type { FlowGate } from './flow-gate.js';
import { readTokens } from './generate.js';
import type { Judging, Place } from './guarded-branch.js';
import { byModel, score } from './score.js';
import { StepAligner } from './step-aligner.js';

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
  readonly #scorer: TextScorer;
  readonly #place: Place & { readonly keep: number };
  /** Of the whole response: what others wrote first. */
  readonly #tokens: TokenEvent[];
  readonly #scores: ScoreEvent[];

  private constructor(
    shared: Shared,
    generation: Generation,
    scorer: TextScorer,
    past: { readonly place: Place; readonly tokens: TokenEvent[]; readonly scores: ScoreEvent[] },
  ) {
    this.#shared = shared;
    this.#generation = generation;
    this.#scorer = scorer;
    this.#place = { ...past.place, keep: past.tokens.length };
    this.#tokens = past.tokens;
    this.#scores = past.scores;
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
    const scorer = await TextScorer.open(engine, promptIds, scoring, promptIds.length + maxTokens, forks);
    try {
      const generation = await engine.generate(shared.request);
      return new EngineBranch(shared, generation, scorer, {
        place: { step: 0, from: 0 },
        tokens: [],
        scores: [],
      });
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
    const { keep, ...place } = this.#place;
    const { scoring, rate, judge } = this.#shared.options;
    const aligner = new StepAligner();
    for (const { text } of this.#tokens) aligner.begins(text);
    // What others wrote of the step counts in its verdict, and is not said again.
    const kept = [...this.#tokens.slice(place.from), ...this.#scores.slice(place.from)];
    const again = new Set<GuardEvent>(kept);
    const live = readTokens(this.#generation, this.promptTokens, gate).pipe(
      score({
        open: async () => ({ ...byModel(this.#scorer), close: () => {} }), // it may be forked after its end
        block: blockOf(scoring.schedule),
        gate,
        from: keep,
        begins: (text) => aligner.begins(text),
      }),
      rate,
      tap((event) => {
        if (event.type === 'token.delta') this.#tokens[event.index] = event;
        if (event.type === 'score.delta') this.#scores[event.index] = event;
      }),
    );
    return concat(from<GenerationEvent[]>(kept), live).pipe(
      judge(place),
      filter((event) => {
        if (again.has(event) || (event.type === 'spike.detected' && event.index < keep)) return false;
        // Where a step was cut for its length, a pass may span the cut: what is settled stays as it is.
        return !(event.type === 'score.delta' && event.index < place.from);
      }),
    );
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
      return new EngineBranch(this.#shared, generation, scorer, {
        place: { step, from },
        tokens: this.#tokens.slice(0, keep),
        scores: this.#scores.slice(0, keep),
      });
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
