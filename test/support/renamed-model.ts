import type { ServedModel } from '#gateway/index.js';

/** The same model under another name. */
export const renamed = (model: ServedModel, name: string): ServedModel => ({
  name,
  status: () => model.status(),
  inside: model.inside,
  about: model.about,
  prepare: async (request, options) => ({
    ...(await model.prepare({ ...request, model: model.name }, options)),
    model: name,
  }),
});
