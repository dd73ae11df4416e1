import { join } from 'node:path';
import { z } from 'zod';
import { readJsonFile } from '../src/files/json-text.js';
import { PACKAGE_ROOT } from '../src/package-root.js';

const schema = z.array(
  z.strictObject({
    model: z.string(),
    /** Parameters that its files hold. */
    million: z.int().positive(),
    gated: z.boolean(),
    /** Whether the model was tested with its real weights. */
    tested: z.boolean(),
  }),
);

/** Models of the hub that fit. */
export const knownModels = (): z.output<typeof schema> =>
  readJsonFile(join(PACKAGE_ROOT, 'models/known-models.json'), schema);

/** Names that a message shows. */
const MOST = 3;
/** Shorter parts of a name, such as `7B`, are of any model. */
const LEAST_CHARACTERS = 3;

/** The known models with which a name has the most parts in common. */
export function nearModels(name: string): string[] {
  const parts = name
    .toLowerCase()
    .split(/[-_\s]+/)
    .filter(({ length }) => length >= LEAST_CHARACTERS);
  const shared = knownModels().map(({ model }) => {
    return { model, count: parts.filter((part) => model.toLowerCase().includes(part)).length };
  });
  const most = Math.max(1, ...shared.map(({ count }) => count));
  return shared
    .filter(({ count }) => count === most)
    .map(({ model }) => model)
    .slice(0, MOST);
}
