import { type StepMode, StepSegmenter } from 'flinch';
import { UsageError } from 'flinch/internals';
import type { ScorableSample } from '../../measures/score-measures.js';
import type { SampleRecord } from '../../records/records.js';
import type { Run } from '../run-context.js';
import { sampleKey } from '../run-folder.js';

export type DrawnSample = Pick<SampleRecord, 'text' | 'finish' | 'seconds'>;

/** A further response as the measures take it: of one that was cut off the whole steps, and no answer. */
export function comparable(
  { text, finish, seconds }: DrawnSample,
  mode: StepMode,
  agrees: (text: string) => boolean,
): ScorableSample {
  if (finish === 'stop') return { text, agrees: agrees(text), seconds };
  const steps = new StepSegmenter(mode).push(text);
  return { text: steps.map((step) => step.text).join(''), agrees: false, seconds };
}

/** The first so many of a problem. @throws UsageError where they have not been drawn */
export function storedSamples({ records }: Pick<Run, 'records'>, id: string, count: number): SampleRecord[] {
  return Array.from({ length: count }, (_, i) => {
    const sample = records.samples.get(sampleKey({ id, sample: i + 1 }));
    if (sample) return sample;
    throw new UsageError('--stages: some measures require the stage sample before score');
  });
}
