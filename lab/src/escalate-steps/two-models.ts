import { lastValueFrom, type Observable, tap } from 'rxjs';
import { configSchema, type UpstreamModelConfig } from '#gateway/config/config.js';
import { EscalatedSteps } from '#gateway/models/escalate-steps.js';
import { ownPlaces } from '#gateway/models/places.js';
import type { GenerationFields } from '#gateway/requests/generation-request.js';
import { openFailover, openUpstreamModel } from '#gateway/upstream/open-upstream-model.js';
import { prepareByLogprobs } from '#gateway/upstream/prepare-logprobs.js';
import type { Failover } from '#gateway/upstream/servers/failover.js';
import { UpstreamGenerations } from '#gateway/upstream/servers/upstream-generations.js';
import type { UpstreamModel } from '#gateway/upstream/upstream-model.js';
import { UsageError } from '#src/files/errors.js';
import { DEFAULT_GUARD } from '#src/guard/guard.js';
import { type RiskModel, stepScore } from '#src/risk/risk.js';
import type { GuardEvent, StepEvent } from '#src/stream/events.js';
import { FlowGate } from '#src/stream/flow-gate.js';

export interface Server {
  readonly url: string;
  readonly model: string;
}

/** A question as both models are asked it. */
export interface Question {
  readonly messages: GenerationFields['messages'];
  readonly maxTokens: number;
  readonly temperature: number;
  readonly seed: number;
}

export interface StepScore {
  /** Where it begins in the text. */
  readonly at: number;
  /** Its tokens, up to but without the last. */
  readonly from: number;
  readonly to: number;
  /** Its summed entropy. */
  readonly score: number;
}

/** An answer, and the tokens that each model wrote for it, those that were taken back included. */
export interface Written {
  readonly text: string;
  /** Those that the small model wrote. */
  readonly steps: readonly StepScore[];
  readonly written: { readonly small: number; readonly large: number };
  /** Steps that the large model wrote. */
  readonly escalated: number;
}

const STREAMS = 64;

const { method: METHOD, statistic: STATISTIC } = DEFAULT_GUARD;

/** A small and a large model behind servers, as the gateway asks them, but for what flags a step. */
export class TwoModels {
  readonly #small: { readonly failover: Failover; readonly generations: UpstreamGenerations };
  readonly #large: UpstreamModel;

  constructor(small: Server, large: Server) {
    const failover = openFailover('small', configOf(small));
    this.#small = { failover, generations: new UpstreamGenerations(failover, ownPlaces(STREAMS)) };
    this.#large = openUpstreamModel('large', configOf(large));
  }

  /** By the small model, without flags. */
  async small(question: Question): Promise<Written> {
    return this.#answer(question, NOTHING, false);
  }

  /** By the small model, of which the large one writes the flagged steps. */
  async withSteps(question: Question, risks: RiskModel): Promise<Written> {
    return this.#answer(question, risks, true);
  }

  /** By the large model, or the rest by it of an answer that is begun, with so many tokens. */
  async large(question: Question, begun = '', tokens = 0): Promise<Written> {
    const maxTokens = Math.max(1, question.maxTokens - tokens);
    const prepared = await this.#prepareLarge({ ...question, maxTokens }, begun);
    const { text, tokens: large } = await read(prepared.start(new FlowGate()));
    return { text: begun + text, steps: [], written: { small: 0, large }, escalated: 0 };
  }

  async close(): Promise<void> {
    for (const server of this.#small.failover.servers) server.close();
    await this.#large.close();
  }

  async #answer(question: Question, risks: RiskModel, escalates: boolean): Promise<Written> {
    const { failover, generations } = this.#small;
    const capabilities = await failover.capabilities();
    const steps = new EscalatedSteps({
      of: 'small',
      to: 'large',
      returns: true,
      prepare: (begun) => this.#prepareLarge(question, begun),
      escalated: (error) => {
        if (error !== null) throw error;
      },
    });
    const guard = {
      method: METHOD,
      methods: [METHOD],
      statistic: STATISTIC,
      rate: 0.5,
      lag: 'wait',
    } as const;
    const prepared = prepareByLogprobs(
      { ...fieldsOf('small', question), guard },
      {
        asked: { canRetract: true },
        ...(escalates && { writeStep: (text: string, tokens: number) => steps.write(text, tokens) }),
      },
      { model: 'small', generations, capabilities, topLogprobs: 0, risks: () => risks },
    );
    if (!prepared.guard.enabled) throw new UsageError('--small: the server returns no log-probabilities');
    const { tokens, large, ...answer } = await read(steps.in(prepared).start(new FlowGate()));
    return { ...answer, written: { small: tokens, large } };
  }

  #prepareLarge(question: Question, begun: string) {
    return this.#large.prepare(
      { ...fieldsOf('large', question), guard: { enabled: false }, top_logprobs: null, clamp: true },
      { asked: { canRetract: true, ...(begun !== '' && { begun }) }, from: { part: 'step' } },
    );
  }
}

const NOTHING: RiskModel = {
  calibrated: () => true,
  ofStep: () => 0,
  ofToken: () => 0,
  ofAnswer: () => null,
};

function configOf({ url, model }: Server): UpstreamModelConfig {
  const { models } = configSchema.parse({
    models: { it: { upstreams: [{ url, model }], max_streams: STREAMS } },
  });
  const config = models?.it;
  if (!config || !('upstreams' in config)) throw new Error('the configuration has no upstream');
  return config;
}

const fieldsOf = (model: string, { messages, maxTokens, temperature, seed }: Question): GenerationFields => ({
  model,
  messages,
  max_tokens: maxTokens,
  temperature,
  seed,
  guard: {},
});

/** An answer as it stands at its end, and the tokens that were written for it. */
async function read(events: Observable<GuardEvent>) {
  const texts: string[] = [];
  const scores: number[] = [];
  const spans: StepEvent[] = [];
  let [escalated, tokens, large] = [0, 0, 0];
  const observe = (event: GuardEvent): void => {
    if (event.type === 'token.delta') texts[event.index] = event.text;
    else if (event.type === 'score.delta') scores[event.index] = event.scores[METHOD] ?? Number.NaN;
    else if (event.type === 'step.done') spans.push(event);
    else if (event.type === 'step.escalated' && event.replaced) escalated += 1;
    else if (event.type === 'token.retracted') texts.length = scores.length = event.from;
    else if (event.type === 'generation.done') {
      const { generatedTokens, completionTokens } = event.usage;
      tokens = generatedTokens ?? completionTokens ?? texts.length;
      large = event.usageByModel?.large?.completionTokens ?? 0;
    }
  };
  await lastValueFrom(events.pipe(tap(observe)));
  const lengthOf = (count: number): number => texts.slice(0, count).join('').length;
  // Those of the other model have no score.
  const own = spans.filter(({ from, to }) => scores.slice(from, to).some(Number.isFinite));
  const steps = own.map(({ from, to }) => ({
    at: lengthOf(from),
    from,
    to,
    score: stepScore(STATISTIC, scores.slice(from, to).filter(Number.isFinite)),
  }));
  return { text: texts.join(''), steps, escalated, tokens, large };
}

/** Flags what a function of a step's summed entropy says. */
export const flagging = (isFlagged: (score: number) => boolean): RiskModel => ({
  ...NOTHING,
  ofStep: (_, __, score) => Number(isFlagged(score)),
});
