import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { readJsonFile } from 'flinch/internals';
import { z } from 'zod';
import { writeWhole } from '../result-log.js';
import { STAGES, type StageName } from './stage-names.js';

const FILE = 'stages.json';
const askedSchema = z.object({ stages: z.array(z.enum(STAGES)) });

/** Notes that a run has been asked for these stages in this folder, beside those of earlier commands. */
export function noteStages(folder: string, stages: readonly StageName[]): void {
  const asked = new Set([...stagesIn(folder), ...stages]);
  const text = JSON.stringify({ stages: STAGES.filter((stage) => asked.has(stage)) });
  writeWhole(join(folder, FILE), `${text}\n`);
}

/** Stages that a run has been asked for in any of these folders; all of them where none notes any, as in earlier versions. */
export function askedStages(folders: readonly string[]): readonly StageName[] {
  const asked = new Set(folders.flatMap(stagesIn));
  return asked.size === 0 ? STAGES : STAGES.filter((stage) => asked.has(stage));
}

function stagesIn(folder: string): readonly StageName[] {
  const file = join(folder, FILE);
  return existsSync(file) ? readJsonFile(file, askedSchema).stages : [];
}
