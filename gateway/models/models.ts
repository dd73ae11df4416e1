import { ApiError } from '../errors/api-error.js';
import type { GenerationFields } from '../requests/generation-request.js';
import type { Prepared, PrepareOptions, ServedModel } from './served-model.js';

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

  /** The name, if it is one of them. */
  named(name: string): string | undefined {
    return this.#models.get(name)?.name;
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

  /** The same models, whose requests are prepared in another way. */
  preparedBy(
    prepare: (model: ServedModel, ...asked: Parameters<ServedModel['prepare']>) => Promise<Prepared>,
  ): Models {
    const wrapped = (model: ServedModel): ServedModel => ({
      name: model.name,
      get inside() {
        return model.inside;
      },
      get forwards() {
        return model.forwards;
      },
      get hosts() {
        return model.hosts;
      },
      get about() {
        return model.about;
      },
      status: () => model.status(),
      prepare: (request, options) => prepare(model, request, options),
    });
    return new Models(this.all.map(wrapped));
  }

  /** @throws ApiError 404 for an unknown model; errors of {@link ServedModel.prepare} */
  async prepare(request: GenerationFields, options: PrepareOptions): Promise<Prepared> {
    return this.get(request.model).prepare(request, options);
  }
}
