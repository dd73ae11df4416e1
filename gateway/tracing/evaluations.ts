import type { Attributes } from '@opentelemetry/api';
import type { RollbackDoneEvent, Verdict } from '../../src/stream/events.js';
import type { GenerationNews } from '../answers/answer-news.js';

/** Attributes that every result has. */
export interface VerdictResult extends Attributes {
  readonly 'gen_ai.evaluation.score.label': 'flagged' | 'passed' | 'unscored';
}

/** The result of a step that is likely wrong. */
export function flaggedStep({
  step: event,
  action,
}: Extract<GenerationNews, { type: 'flagged' }>): Attributes {
  const { step, from, to, part, method, score, risk, calibrated } = event;
  const measured = [
    ...(score === null ? [] : [`${method} ${rounded(score)}`]),
    ...(risk === null ? [] : [`risk ${rounded(risk)}`]),
  ].join(', ');
  return {
    'gen_ai.evaluation.name': 'flinch.step',
    'gen_ai.evaluation.score.label': 'flagged',
    'gen_ai.evaluation.explanation': `tokens ${from} to ${to - 1}: ${measured}; ${action}`,
    ...(risk !== null && { 'gen_ai.evaluation.score.value': risk }),
    'flinch.step.index': step,
    'flinch.step.from': from,
    'flinch.step.to': to,
    ...(part && { 'flinch.step.part': part }),
    'flinch.method': method,
    ...(score !== null && { 'flinch.score': score }),
    'flinch.calibrated': calibrated,
    'flinch.action': action,
  };
}

/**
 * The result of an answer as a whole.
 * @param why there is none
 */
export function verdict(verdict: Verdict | null, why: string): VerdictResult {
  const name = { 'gen_ai.evaluation.name': 'flinch.verdict' };
  if (!verdict) {
    return { ...name, 'gen_ai.evaluation.score.label': 'unscored', 'gen_ai.evaluation.explanation': why };
  }
  const { flagged, risk, rate, flaggedSteps, steps, unscoredTokens, calibrated, reason } = verdict;
  const measured = risk === null ? 'no risk' : `risk ${rounded(risk)}`;
  const explanation = `${measured} with rate ${rate}; ${flaggedSteps} of ${steps} steps flagged`;
  return {
    ...name,
    'gen_ai.evaluation.score.label': flagged === null ? 'unscored' : flagged ? 'flagged' : 'passed',
    'gen_ai.evaluation.explanation': reason ? `${explanation}; ${reason}` : explanation,
    ...(risk !== null && { 'gen_ai.evaluation.score.value': risk }),
    'flinch.rate': rate,
    'flinch.flagged_steps': flaggedSteps,
    'flinch.steps': steps,
    'flinch.unscored_tokens': unscoredTokens,
    'flinch.calibrated': calibrated,
    ...(reason && { 'flinch.reason': reason }),
  };
}

export const rollback = ({ rollback, step, outcome, chosen, candidates }: RollbackDoneEvent): Attributes => ({
  'flinch.rollback.index': rollback,
  'flinch.step.index': step,
  'flinch.rollback.outcome': outcome,
  'flinch.rollback.chosen': chosen,
  'flinch.rollback.candidates': candidates.length,
});

const rounded = (value: number): number => Number(value.toPrecision(4));
