import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { UsageError } from 'flinch/internals';
import { chosenSubsets, neededFolder, readDataFile } from './data-files.js';
import { pythonShuffle } from './python-shuffle.js';
import type { Suite } from './suite.js';
import { biographyPrompt } from './suite-prompts.js';

/** Names of the list: one entity a line. */
const FILES = ['prompt_entities.txt', 'entities_500_from_graph_uncertainty.txt'] as const;
/** Seed with which the paper's example is the first of the 500. */
const SHUFFLE_SEED = 10;

/**
 * Biographies of FActScore's entities, in the order in which the Graph-based Uncertainty repository takes them. The id
 * of a problem is its entity. There is no reference: claims are what is judged.
 */
export const factscoreSuite: Suite = {
  name: 'factscore',
  judged: 'claims',
  labelledBy: 'judge',
  async load(source) {
    chosenSubsets(['factscore'], source.subsets);
    const folder = neededFolder('factscore', source);
    const file = FILES.find((name) => existsSync(join(folder, name))) ?? FILES[0];
    const text = await readDataFile('factscore', folder, file);
    const entities = text.split('\n').map((line) => line.trim());
    const lines = entities.flatMap((entity, i) => (entity === '' ? [] : [{ entity, line: i + 1 }]));
    for (const { entity, line } of lines) {
      const twice = entities.indexOf(entity) + 1;
      if (twice !== line)
        throw new UsageError(`${join(folder, file)}: line ${line}: "${entity}" is in line ${twice}`);
    }
    if (lines.length === 0) throw new UsageError(`${join(folder, file)}: has no entities`);
    return pythonShuffle(lines, SHUFFLE_SEED).map(({ entity }) => ({
      id: entity,
      subset: 'factscore',
      question: biographyPrompt(entity),
      reference: null,
      given: null,
    }));
  },
  messages: ({ question }) => [{ role: 'user', content: question }],
  check: () => null,
  locate: () => null,
};
