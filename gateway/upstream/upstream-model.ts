import type { Engine } from '../../src/engine/engine.js';
import { RunningRisk } from '../../src/risk/running-risk.js';
import { METHODS } from '../../src/uncertainty/method-names.js';
import type { Asked } from '../answers/asked.js';
import { PerClient } from '../answers/per-client.js';
import type {
  Forwards,
  ModelAbout,
  ModelInside,
  ModelStatus,
  ServedModel,
  Source,
} from '../answers/served-model.js';
import type { Slots } from '../answers/slots.js';
import { givenSource } from '../models/given-source.js';
import { usualJudge } from '../requests/guard-limits.js';
import { isEchoed, logprobSource } from './logprob-source.js';
import { scoredSource } from './scored-source.js';
import { methodsOf } from './scoring/logprob-scores.js';
import type { Scorer } from './scoring/scorer.js';
import { conversationInput } from './scoring/scorer-input.js';
import { Asking } from './servers/asking.js';
import type { Failover } from './servers/failover.js';
import { invalid } from './servers/upstream-request.js';

/** A model that other servers run, scored by a checkpoint of the same weights, else by what log-probabilities allow. */
export class UpstreamModel implements ServedModel {
  readonly name: string;
  readonly slots: Slots;
  readonly #failover: Failover;
  readonly #scorer: Scorer | null;
  readonly #routes: Forwards['routes'];
  /** Estimates without a scorer. */
  readonly #estimates = new PerClient(() => new RunningRisk());

  constructor(
    name: string,
    failover: Failover,
    {
      slots,
      scorer,
      passthrough,
    }: {
      readonly slots: Slots;
      readonly scorer: Scorer | null;
      readonly passthrough: Forwards['routes'];
    },
  ) {
    this.#routes = passthrough;
    this.name = name;
    this.#failover = failover;
    this.slots = slots;
    this.#scorer = scorer;
  }

  get inside(): ModelInside {
    return {
      provider: 'openai',
      ...(this.#scorer && { engine: { engine: this.#scorer.engine, processes: ['score'] } }),
      upstream: {
        look: () => this.#failover.look(),
        up: () => this.#failover.servers.some(({ reachable }) => reachable),
      },
    };
  }

  get about(): ModelAbout {
    const known = this.#failover.servers.flatMap(({ capabilities }) => capabilities ?? []);
    const computed = known.flatMap(methodsOf);
    const methods = known.length === 0 ? null : METHODS.filter((method) => computed.includes(method));
    return {
      ...(this.#scorer?.about ?? {
        embedded: false,
        single_turn: false,
        methods,
        method: methods && usualJudge(methods),
      }),
      top_logprobs: known.length === 0 ? null : Math.max(...known.map(({ logprobs }) => logprobs ?? 0)),
    };
  }

  /** Status by the order of the upstreams in the configuration; their addresses are confidential. */
  status(): ModelStatus {
    const upstreams = this.#failover.servers.map(({ capabilities, lastError, reachable }) => ({
      reachable,
      capabilities,
      error: lastError?.code ?? null,
      // The refusal of a client's request may quote that.
      ...(lastError && lastError.code !== 'upstream_refused' && { problem: lastError.message }),
    }));
    const scorer = this.#scorer?.state;
    const reachable = upstreams.some((upstream) => upstream.reachable);
    const ready = reachable && (scorer?.running ?? true);
    const problem = reachable ? 'its scorer is not running' : 'its server does not answer';
    // A monitor that asks for readiness alone would otherwise never notice that a server goes, or comes back.
    this.#failover.look();
    return {
      ready,
      ...(!ready && { problem }),
      streams: this.slots.taken,
      upstreams,
      ...(scorer && { scorer }),
    };
  }

  async source(asked: Asked): Promise<Source> {
    this.#failover.refresh();
    const asking = new Asking(asked, this.#failover, await this.#failover.capabilities());
    const unscored = logprobSource(asked, asking, this.#estimates);
    const scorer = this.#scorer;
    return scorer && !isEchoed(asked) ? scoredSource(asked, asking, scorer, unscored) : unscored;
  }

  get given(): ServedModel['given'] {
    if (!this.#scorer) return undefined;
    const { engine, judge } = this.#scorer;
    return async (text, asked) =>
      givenSource(text, {
        client: asked.client,
        engine,
        judge,
        promptIds: () => promptOfGiven(engine, asked),
      });
  }

  get forwards(): Forwards | undefined {
    if (this.#routes.length === 0) return undefined;
    return {
      routes: this.#routes,
      send: (request, signal) => this.#failover.first(signal, (server) => server.forward(request, signal)),
    };
  }

  get hosts(): readonly string[] {
    return this.#failover.servers.map(({ host }) => host);
  }

  async close(): Promise<void> {
    for (const server of this.#failover.servers) server.close();
  }
}

async function promptOfGiven(engine: Engine, asked: Asked): Promise<readonly number[]> {
  const { promptIds } = await conversationInput(engine, asked, { tokenIds: 'none' });
  if (promptIds) return promptIds;
  throw invalid('messages', 'must be text alone, for the scorer to read them');
}
