import { type Level, limitsOf, mergedPolicy, type OperatorPolicy } from './policy.js';
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

  constructor(sources: PolicySources) {
    this.#sources = sources;
  }

  /**
   * @param model name of the model
   * @param principal name of the key
   */
  of(model: string, principal: string): OperatorPolicy | null {
    const { models = {}, access } = this.#sources;
    const key = access.keys.findIndex(({ name }) => name === principal);
    return mergedPolicy([
      ...this.#gateway(),
      ...modelLevel(model, Object.hasOwn(models, model) ? models[model] : undefined),
      ...keyLevel(key, access.keys[key]),
    ]);
  }

  /** The model that is asked where an answer of this one is flagged; `null` if there is none. */
  escalationOf(model: string): Escalation | null {
    const { models = {} } = this.#sources;
    return (Object.hasOwn(models, model) ? models[model]?.escalate : undefined) ?? null;
  }

  /** How it is found what answers of a model say, for votes. */
  voteOf(model: string): VoteConfig {
    const { models = {} } = this.#sources;
    return (Object.hasOwn(models, model) ? models[model]?.vote : undefined) ?? {};
  }

  /** Models that name another one. */
  get escalating(): readonly string[] {
    return Object.keys(this.#sources.models ?? {}).filter((model) => this.escalationOf(model) !== null);
  }

  /** All that requests for a model may have: that of keys without a policy of their own first, if there is one. */
  allOf(model: string): readonly OperatorPolicy[] {
    const keys = this.#sources.access.keys.filter(({ guard }) => guard !== undefined);
    const all = [this.of(model, ''), ...keys.map(({ name }) => this.of(model, name))];
    return all.filter((policy) => policy !== null);
  }

  /** The names of all. */
  get names(): readonly string[] {
    const { models = {}, access } = this.#sources;
    const levels = [
      ...this.#gateway(),
      ...Object.entries(models).flatMap(([name, model]) => modelLevel(name, model)),
      ...access.keys.flatMap((key, i) => keyLevel(i, key)),
    ];
    return [...new Set(levels.map(({ name }) => name))];
  }

  #gateway(): Level[] {
    return gatewayLevel(this.#sources.guard);
  }
}

export const gatewayLevel = (config: PolicyConfig | undefined): Level[] =>
  levelOf(config, 'gateway', ['guard']);

export const modelLevel = (name: string, model: ModelWithPolicy | undefined): Level[] =>
  levelOf(model?.guard, `model:${name}`, ['models', name, 'guard']);

/** @param index index of the key in the configuration */
export const keyLevel = (index: number, key: KeyWithPolicy | undefined): Level[] =>
  levelOf(key?.guard, `key:${key?.name}`, ['access', 'keys', index, 'guard']);

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
