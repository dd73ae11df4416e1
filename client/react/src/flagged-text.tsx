import type { FlinchStep } from 'flinch-ai-sdk';
import { adviceWords, rankWords, riskLevel, riskStrength } from 'flinch-client';
import { memo, type ReactNode } from 'react';
import type { ScoredText } from './message-answers.js';

/** How much of the colour a token at the threshold gets, in percent: text on it stays readable. */
const FULL_HEAT = 66;

const NOT_YET = { check: null, head: 'Not judged yet', why: '' } as const;

/**
 * A text with each token coloured by its risk, flagged steps marked, retracted text struck out, and what to do with it below.
 * It needs `flinch-react/style.css`; the variables `--flinch-heat` and `--flinch-alarm` set the colours.
 */
export function FlaggedText({ text, steps, verdict }: ScoredText): ReactNode {
  const settled = steps.reduce((length, step) => length + step.text.length, 0);
  const flagged = steps.filter((step) => step.flagged === true).map(({ step }) => step);
  const { check, head, why } = verdict ? adviceWords(verdict, flagged) : NOT_YET;
  return (
    <div className="flinch">
      <div className="flinch-text">
        {steps.map((step) => (
          <StepText key={`${step.answer}/${step.step}`} step={step} />
        ))}
        {text.slice(settled)}
      </div>
      <p className="flinch-verdict" role="status" data-check={check ?? 'unknown'}>
        <span aria-hidden="true">{check === null ? '? ' : check ? '⚑ ' : '✓ '}</span>
        <b>{head}.</b> {why}
      </p>
    </div>
  );
}

interface StepProps {
  readonly step: FlinchStep;
}

/** A step does not change once it is there. */
const same = ({ step: a }: StepProps, { step: b }: StepProps): boolean =>
  a.answer === b.answer && a.step === b.step;

const StepText = memo(({ step }: StepProps): ReactNode => {
  const { flagged, risk, per, struck } = step;
  const rank = risk === null ? '' : `, ${rankWords(risk, per)}`;
  const level = riskLevel(flagged === null ? null : risk, flagged === true);
  return (
    <>
      {struck.map((gone, i) => (
        // Retracted text never changes its place.
        <del key={i} className="flinch-struck">
          <Hidden>Replaced: </Hidden>
          {gone.trim()}
        </del>
      ))}
      {flagged ? (
        <mark className="flinch-step" data-level={level} title={`Flagged step${rank}`}>
          <Hidden>{`Flagged step${rank}: `}</Hidden>
          <span className="flinch-flag" aria-hidden="true">
            ⚑
          </span>
          {step.tokens.map(tokenOf(step))}
        </mark>
      ) : (
        <span className="flinch-step" data-level={level}>
          {step.tokens.map(tokenOf(step))}
        </span>
      )}
    </>
  );
}, same);

const tokenOf =
  ({ rate }: FlinchStep) =>
  ({ text, risk }: FlinchStep['tokens'][number], index: number): ReactNode => {
    const heat = risk === null ? 0 : Math.round(riskStrength(risk, rate) * FULL_HEAT);
    if (risk === null || heat === 0) return text;
    const backgroundColor = `color-mix(in srgb, var(--flinch-heat) ${heat}%, transparent)`;
    const conspicuous = risk >= 1 - rate;
    return (
      <span
        key={index}
        className="flinch-token"
        data-conspicuous={conspicuous || undefined}
        style={{ backgroundColor }}
        title={`Token ${rankWords(risk, 'token')}`}
      >
        {text}
      </span>
    );
  };

/** Text that only screen readers say. */
const Hidden = ({ children }: { readonly children: ReactNode }): ReactNode => (
  <span className="flinch-hidden">{children}</span>
);
