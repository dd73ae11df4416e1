import type { Engine } from '../../src/engine/engine.js';
import { type Branch, branchOf, closeOnFailure } from '../../src/guard/branch.js';
import { engineScorer } from '../../src/guard/engine-branch.js';
import { guardedBranch, type Judging } from '../../src/guard/guarded-branch.js';
import { blockOf } from '../../src/uncertainty/schedule.js';
import { SequenceScorer } from '../../src/uncertainty/sequence-scorer.js';
import type { Scoring } from '../../src/uncertainty/settings.js';
import { ApiError } from '../errors/api-error.js';
import type { AskedGuard } from '../requests/guard-limits.js';
import type { GivenText } from './given-text.js';
import { GivenWriter } from './given-writer.js';
import { roomAfter } from './request-prompt.js';
import { guardInForce, withWarnings } from './resolve-guard.js';
import type { RiskModels } from './risk-models.js';
import type { Prepared, PrepareOptions } from './served-model.js';
import { inSlot, type Slots } from './slots.js';

/** Model, prompt and guard with which a given text is scored. */
export interface GivenScoring {
  /** Name of the model. */
  readonly model: string;
  readonly engine: Engine;
  readonly risks: RiskModels;
  readonly slots: Slots;
  /** Prompt that the text answers, by the model's template. */
  readonly promptIds: readonly number[];
  /** Guard of the request, by the operator's policy. */
  readonly guard: AskedGuard;
  /** @throws SettingsError for scores that cannot be computed here */
  readonly check?: (scoring: Scoring) => void;
}

const UNVERIFIED =
  'not verified: the text was given, so it is unknown whether a model of these weights has written it for this prompt';

/** There is nothing to take back or to wait for: every token is scored, and steps are only flagged. */
const SCORED_WHOLE = { action: 'annotate', delivery: 'immediate', lag: 'wait' } as const;

/**
 * An answer that the client gives, as one that the model has written for this prompt.
 * @throws ApiError 400; SettingsError
 */
export async function givenAnswer(
  text: GivenText,
  { model, engine, risks: models, slots, promptIds, guard: asked, check }: GivenScoring,
  { from, listeners }: PrepareOptions,
): Promise<Prepared> {
  const { client = '' } = from ?? {};
  const { written } = listeners ?? {};
  const { settings, judging } = await guardInForce(
    { ...asked, ...SCORED_WHOLE },
    { checkpoint: engine.checkpoint, risks: models, client, canRetract: true, lag: 'wait' },
  );
  if (!judging) throw new ApiError('invalid_value', 'guard.enabled: false, so nothing is scored', 'guard');
  const { scoring, guard, risks } = judging;
  check?.(scoring);
  const left = roomAfter(engine, promptIds);
  const room = Math.min(left, text.mostTokens ?? left);
  const { tokenizer } = engine.checkpoint;
  const open = async ({ forks, lagTokens, ...judge }: Judging): Promise<Branch> => {
    const positions = promptIds.length + room;
    const sequence = await SequenceScorer.open(engine, promptIds, scoring, positions, forks, { client });
    return closeOnFailure(sequence, async () => {
      const writer = new GivenWriter({ text, tokenizer, promptTokens: promptIds.length, room });
      return branchOf(writer, engineScorer(sequence, blockOf(scoring.schedule), lagTokens), judge);
    });
  };
  return {
    model,
    vocabulary: tokenizer,
    promptTokens: promptIds.length,
    guard: withWarnings(settings, [UNVERIFIED]),
    start: (gate) =>
      inSlot(slots, client, () =>
        guardedBranch(open, { scoring, guard, risks, seed: 0, ...(written && { written }) }, gate),
      ),
  };
}
