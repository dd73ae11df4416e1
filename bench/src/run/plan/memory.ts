import { absoluteScoring } from 'flinch';
import { decodeMemory, replicaOptions, scoreMemory, sizeOf } from 'flinch/internals';
import { sharedPasses } from '../../measures/passes.js';
import type { Run } from '../run-context.js';

export interface PlannedSize {
  /** Positions of prompt and response. */
  readonly positions: number;
  /** Responses that are written, at most as many at once as there are streams. */
  readonly writing: number;
  readonly scoring: number;
}

/**
 * Bytes that the two processes of the engine take, by counting, as `flinch inspect` does. On a GPU every graph has its
 * own weights; on the CPU they are there once, mapped from their files. What either process had it keeps.
 */
export async function plannedMemory(
  { engine, measures, streams }: Pick<Run, 'engine' | 'measures' | 'streams'>,
  { positions, writing, scoring }: PlannedSize,
): Promise<number> {
  const { weightBytes, config, embeddingRms } = engine.checkpoint;
  const { decode, score } = engine.status();
  const isGpu = (device: string | null | undefined): boolean => (device ?? 'cpu') !== 'cpu';
  const written = decodeMemory(engine.machine('decode'), positions);
  const copies = Math.min(streams, writing);
  let bytes = copies > 0 ? copies * written.kept + written.run : 0;
  // One that reads prompts, and one for each kind of pass.
  const graphs = new Set(['forward']);
  let largest = 0;
  for (const pass of scoring > 0 ? sharedPasses(measures) : []) {
    const scoringOfPass = await absoluteScoring(pass.scoring, embeddingRms);
    const replicas = replicaOptions(scoringOfPass, config.hiddenSize);
    const { kept, run } = scoreMemory(engine.machine('score'), sizeOf(scoringOfPass, positions, replicas));
    largest = Math.max(largest, kept + run);
    if (scoringOfPass.methods.includes('adversarial')) graphs.add(`adversarial ${scoringOfPass.form}`);
    for (const { kind } of replicas) graphs.add(kind);
  }
  bytes += largest;
  const ofWeights =
    (isGpu(decode.device) && writing > 0 ? 1 : 0) + (isGpu(score.device) && scoring > 0 ? graphs.size : 0);
  const areMapped = !isGpu(decode.device) || !isGpu(score.device);
  return bytes + weightBytes * (ofWeights + (areMapped ? 1 : 0));
}
