import { METHODS } from '../../src/uncertainty/method-names.js';
import { Estimates } from '../models/estimates.js';
import type {
  Forwards,
  ModelAbout,
  ModelInside,
  ModelStatus,
  Prepared,
  PrepareOptions,
  ServedModel,
} from '../models/served-model.js';
import type { Slots } from '../models/slots.js';
import type { GenerationFields } from '../requests/generation-request.js';
import { usualJudge } from '../requests/guard-limits.js';
import { prepareUpstream } from './prepare-upstream.js';
import { methodsOf } from './scoring/logprob-scores.js';
import type { Scorer } from './scoring/scorer.js';
import type { Failover } from './servers/failover.js';
import { UpstreamGenerations } from './servers/upstream-generations.js';
import { invalid } from './servers/upstream-request.js';

/** A model that other servers run, scored by a checkpoint of the same weights, else by what log-probabilities allow. */
export class UpstreamModel implements ServedModel {
  readonly name: string;
  readonly #failover: Failover;
  readonly #slots: Slots;
  readonly #generations: UpstreamGenerations;
  readonly #scorer: Scorer | null;
  readonly #routes: Forwards['routes'];
  /** Estimates without a scorer. Scores by log-probabilities depend on no settings. */
  readonly #estimates = new Estimates();

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
    this.#slots = slots;
    this.#generations = new UpstreamGenerations(failover, slots);
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
      streams: this.#generations.streams,
      upstreams,
      ...(scorer && { scorer }),
    };
  }

  async prepare(request: GenerationFields, options: PrepareOptions): Promise<Prepared> {
    const { given } = options.asked;
    const { client = '', further = false } = options.from ?? {};
    if (given) {
      if (this.#scorer) return this.#scorer.given(given, this.name, this.#slots, request, options);
      throw invalid('model', `${this.name} has no scorer, so it scores no text that is given`);
    }
    this.#failover.refresh();
    return prepareUpstream(request, options, {
      model: this.name,
      generations: this.#generations,
      capabilities: await this.#failover.capabilities(),
      scorer: this.#scorer,
      risks: () => this.#estimates.of(client, '').ofOneAnswer(!further),
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
