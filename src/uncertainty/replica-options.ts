import type { ReplicaOptions } from '../engine/engine-messages.js';
import type { ScoreSize } from '../engine/memory.js';
import { type Method, TOKUR_METHODS } from './method-names.js';
import { blockOf, passSize } from './schedule.js';
import { type AbsoluteScoring, DEFAULT_RANDOM, DEFAULT_TOKUR, type Scoring } from './settings.js';

/** Whether a method asks for perturbed copies of that kind. */
export function needsReplicas(kind: ReplicaOptions['kind'], { methods }: Scoring): boolean {
  const needing: readonly Method[] = kind === 'noise' ? ['random'] : TOKUR_METHODS;
  return methods.some((method) => needing.includes(method));
}

/** The perturbed copies that the methods need. */
export function replicaOptions(scoring: AbsoluteScoring): ReplicaOptions[] {
  const { random = DEFAULT_RANDOM, tokur = DEFAULT_TOKUR } = scoring;
  const replicas: ReplicaOptions[] = [
    { kind: 'noise', ...random },
    { kind: 'tokur', ...tokur },
  ];
  return replicas.filter(({ kind }) => needsReplicas(kind, scoring));
}

/** Sizes that decide how much memory the passes of a sequence need. */
export function sizeOf(
  { schedule, methods }: Scoring,
  positions: number,
  replicas: readonly ReplicaOptions[],
): ScoreSize {
  const window = methods.includes('adversarial') ? passSize(schedule, positions) : 1;
  const copies = replicas.reduce((sum, { samples }) => sum + samples, 0);
  return { positions, window, scored: Math.min(positions, blockOf(schedule)), replicas: copies };
}
