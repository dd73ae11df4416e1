import type { Asked } from '#gateway/answers/asked.js';
import type { Prepared, ServedModel } from '#gateway/index.js';

/**
 * The same model under another name.
 * @param change changes its texts
 */
export const renamed = (
  model: ServedModel,
  name: string,
  change = (prepared: Prepared, _asked: Asked): Prepared => prepared,
): ServedModel => ({
  name,
  status: () => model.status(),
  inside: model.inside,
  about: model.about,
  source: async (asked) => {
    const source = await model.source({ ...asked, fields: { ...asked.fields, model: model.name } });
    return { ...source, prepare: async (guarding) => change(await source.prepare(guarding), asked) };
  },
});
