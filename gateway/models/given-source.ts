import type { Engine } from '../../src/engine/engine.js';
import { branchOf, closeOnFailure } from '../../src/guard/branch.js';
import { engineScorer } from '../../src/guard/engine-branch.js';
import { blockOf } from '../../src/uncertainty/schedule.js';
import { SequenceScorer } from '../../src/uncertainty/sequence-scorer.js';
import type { Guarding, Judge, Prepared, Source } from '../answers/served-model.js';
import { ApiError } from '../errors/api-error.js';
import type { GivenText } from '../requests/given-text.js';
import { GivenWriter } from './given-writer.js';
import { roomAfter } from './request-prompt.js';

interface GivenOptions {
  readonly client: string;
  readonly engine: Engine;
  readonly judge: Judge;
  /** Prompt that the text answers, by the model's template. */
  readonly promptIds: () => Promise<readonly number[]>;
}

const UNVERIFIED =
  'not verified: the text was given, so it is unknown whether a model of these weights has written it for this prompt';

/** An answer that the client gives, as one that the model has written for this prompt. */
export function givenSource(
  text: GivenText,
  { client, engine, judge, promptIds: encode }: GivenOptions,
): Source {
  const prepare = async (guarding: Guarding | null): Promise<Prepared> => {
    if (!guarding) throw new ApiError('invalid_value', 'guard.enabled: false, so nothing is scored', 'guard');
    const { scoring } = guarding;
    const promptIds = await encode();
    const promptTokens = promptIds.length;
    const left = roomAfter(engine, promptIds);
    const room = Math.min(left, text.mostTokens ?? left);
    const { tokenizer } = engine.checkpoint;
    return {
      vocabulary: tokenizer,
      promptTokens,
      warnings: [UNVERIFIED],
      seed: 0,
      open: async ({ forks, lagTokens, ...judging }) => {
        const positions = promptTokens + room;
        const sequence = await SequenceScorer.open(engine, promptIds, scoring, positions, forks, { client });
        return closeOnFailure(sequence, async () => {
          const writer = new GivenWriter({ text, tokenizer, promptTokens, room });
          return branchOf(writer, engineScorer(sequence, blockOf(scoring.schedule), lagTokens), judging);
        });
      },
    };
  };
  return { judge, scoresAll: true, prepare };
}
