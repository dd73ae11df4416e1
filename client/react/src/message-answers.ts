import type { FlinchStep, FlinchVerdict } from 'flinch-ai-sdk';

/** A text that flinch has scored, with everything to show. */
export interface ScoredText {
  /** Text as far as it is written. */
  readonly text: string;
  /** Settled steps, in order. */
  readonly steps: readonly FlinchStep[];
  /** `null` until it is known. */
  readonly verdict: FlinchVerdict | null;
}

/** Fields that are read of a part of a `UIMessage`. */
export interface MessagePart {
  readonly type: string;
  readonly text?: string;
  readonly data?: unknown;
}

interface MessageAnswer {
  readonly steps: FlinchStep[];
  verdict: FlinchVerdict | null;
}

/**
 * The scored text of each part of a message; `null` for a part that is not text. A message has an answer for each call
 * of the model, which begins with `step-start`; all of its calls must have been made through the middleware.
 */
export function scoredTexts(parts: readonly MessagePart[]): readonly (ScoredText | null)[] {
  const answers = [...answersOf(parts).values()];
  let call = 0;
  let started = false;
  return parts.map((part) => {
    if (part.type === 'step-start') {
      call += started ? 1 : 0;
      started = true;
    }
    if (part.type !== 'text') return null;
    const { text = '' } = part;
    const { steps, verdict } = answers[call] ?? { steps: [], verdict: null };
    return { text, steps: steps.splice(0, fitting(steps, text)), verdict };
  });
}

function answersOf(parts: readonly MessagePart[]): ReadonlyMap<string, MessageAnswer> {
  const answers = new Map<string, MessageAnswer>();
  const answer = (id: string): MessageAnswer => {
    const known = answers.get(id) ?? { steps: [], verdict: null };
    answers.set(id, known);
    return known;
  };
  for (const part of parts) {
    if (isStep(part)) answer(part.data.answer).steps.push(...(part.data.part ? [] : [part.data]));
    else if (isVerdict(part)) answer(part.data.answer).verdict = part.data;
  }
  return answers;
}

/** How many steps the text has, from its beginning on. It may be behind them, and is another's if it does not fit. */
function fitting(steps: readonly FlinchStep[], text: string): number {
  let at = 0;
  const end = steps.findIndex((step) => {
    const fits = text.startsWith(step.text, at);
    at += step.text.length;
    return !fits;
  });
  return end < 0 ? steps.length : end;
}

const isStep = (part: MessagePart): part is { type: string; data: FlinchStep } =>
  part.type === 'data-flinch-step';

const isVerdict = (part: MessagePart): part is { type: string; data: FlinchVerdict & { answer: string } } =>
  part.type === 'data-flinch-verdict';
