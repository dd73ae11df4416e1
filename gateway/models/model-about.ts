import { basename } from 'node:path';
import type { Checkpoint } from '../../src/checkpoint/checkpoint.js';
import { DEFAULT_GUARD } from '../../src/guard/guard.js';
import { reasonerPath } from '../../src/package-root.js';
import { METHODS } from '../../src/uncertainty/method-names.js';
import type { ModelAbout } from '../answers/served-model.js';
import type { RiskModels } from './risk-models.js';

/** Whether a checkpoint is the model that comes with flinch, or a copy of its folder. */
const isEmbedded = ({ name }: Pick<Checkpoint, 'name'>): boolean => name === basename(reasonerPath);

/** What clients are told of a checkpoint that scores. */
export const aboutCheckpoint = (
  checkpoint: Checkpoint,
  { judge = DEFAULT_GUARD.method }: Pick<RiskModels, 'judge'>,
): Omit<ModelAbout, 'top_logprobs'> => ({
  embedded: isEmbedded(checkpoint),
  single_turn: checkpoint.chatTemplate.isSingleTurn,
  methods: METHODS,
  method: judge,
});
