import { ApiError } from '../errors/api-error.js';
import type { ServedModel } from './served-model.js';

/** The models that the gateway serves, by name. */
export class Models {
  readonly created = Math.floor(Date.now() / 1000);
  readonly #models: ReadonlyMap<string, ServedModel>;

  constructor(models: Iterable<ServedModel>) {
    this.#models = new Map([...models].map((model) => [model.name, model]));
  }

  get all(): readonly ServedModel[] {
    return [...this.#models.values()];
  }

  /** Whether a request can be taken on: by any of them. */
  get ready(): boolean {
    return this.all.some((model) => model.status().ready);
  }

  /** Whether any of them passes on requests that are not read here. */
  get passes(): boolean {
    return this.all.some(({ forwards }) => forwards !== undefined);
  }

  /** The name, if it is one of them. */
  named(name: string): string | undefined {
    return this.#models.get(name)?.name;
  }

  /** The others that one of the same servers runs. */
  beside({ name, hosts = [] }: ServedModel): readonly ServedModel[] {
    return this.all.filter(
      (other) => other.name !== name && other.hosts?.some((host) => hosts.includes(host)) === true,
    );
  }

  /** @throws ApiError 404 */
  get(name: string): ServedModel {
    const model = this.#models.get(name);
    if (model) return model;
    const known = [...this.#models.keys()].join(', ');
    throw new ApiError(
      'model_not_found',
      `model: "${name}" is not served (available models: ${known})`,
      'model',
    );
  }
}
