import { type Level, limitsOf, mergedPolicy, type OperatorPolicy } from './operator-policy.js';
import type { PolicyConfig } from './policy-schema.js';
import type { VoteConfig } from './vote-schema.js';

/** Parts of the configuration that set policies of the guard. */
export interface PolicySources {
  readonly guard?: PolicyConfig | undefined;
  readonly models?: Readonly<Record<string, ModelWithPolicy>> | undefined;
  readonly access: { readonly keys: readonly KeyWithPolicy[] };
}

export interface ModelWithPolicy {
  readonly guard?: PolicyConfig | undefined;
  readonly escalate?: Escalation | undefined;
  readonly vote?: VoteConfig | undefined;
}

export interface Escalation {
  /** Name of the other model. */
  readonly to: string;
}

export interface KeyWithPolicy {
  readonly name: string;
  readonly guard?: PolicyConfig | undefined;
}

/** The policies of a configuration. */
export class Policies {
  readonly #sources: PolicySources;
  /** Policies by the name of the key. */
  readonly #keys: ReadonlyMap<string, readonly Level[]>;

  constructor(sources: PolicySources) {
    this.#sources = sources;
    this.#keys = new Map(sources.access.keys.map((key, i) => [key.name, keyLevel(i, key)]));
  }

  /**
   * @param model name of the model
   * @param principal name of the key
   */
  of(model: string, principal: string): OperatorPolicy | null {
    return mergedPolicy([
      ...gatewayLevel(this.#sources.guard),
      ...modelLevel(model, this.#model(model)),
      ...(this.#keys.get(principal) ?? []),
    ]);
  }

  /** The model that is asked where an answer of this one is flagged; `null` if there is none. */
  escalationOf(model: string): Escalation | null {
    return this.#model(model)?.escalate ?? null;
  }

  /** How it is found what answers of a model say, for votes. */
  voteOf(model: string): VoteConfig {
    return this.#model(model)?.vote ?? {};
  }

  /** Models that name another one. */
  get escalating(): readonly string[] {
    return Object.keys(this.#sources.models ?? {}).filter((model) => this.escalationOf(model) !== null);
  }

  /** All that requests for a model may have: that of keys without a policy of their own first, if there is one. */
  allOf(model: string): readonly OperatorPolicy[] {
    const keys = [...this.#keys].filter(([, levels]) => levels.length > 0);
    const all = [this.of(model, ''), ...keys.map(([name]) => this.of(model, name))];
    return all.filter((policy) => policy !== null);
  }

  /** The names of all. */
  get names(): readonly string[] {
    const { models = {} } = this.#sources;
    const levels = [
      ...gatewayLevel(this.#sources.guard),
      ...Object.entries(models).flatMap(([name, model]) => modelLevel(name, model)),
      ...[...this.#keys.values()].flat(),
    ];
    return [...new Set(levels.map(({ name }) => name))];
  }

  #model(name: string): ModelWithPolicy | undefined {
    const { models = {} } = this.#sources;
    return Object.hasOwn(models, name) ? models[name] : undefined;
  }
}

export const gatewayLevel = (config: PolicyConfig | undefined): Level[] =>
  levelOf(config, 'gateway', ['guard']);

export const modelLevel = (name: string, model: ModelWithPolicy | undefined): Level[] =>
  levelOf(model?.guard, `model:${name}`, ['models', name, 'guard']);

/** @param index index of the key in the configuration */
export const keyLevel = (index: number, key: KeyWithPolicy): Level[] =>
  levelOf(key.guard, `key:${key.name}`, ['access', 'keys', index, 'guard']);

const levelOf = (config: PolicyConfig | undefined, usual: string, path: Level['path']): Level[] =>
  config === undefined ? [] : [{ name: config.name ?? usual, path, config }];

/** A policy as `/healthz` shows it. */
export const describePolicy = ({ name, defaults, locked, bounds, unscored }: OperatorPolicy) => ({
  name,
  defaults,
  locked: [...locked.keys()],
  bounds: limitsOf(bounds),
  unscored,
});
