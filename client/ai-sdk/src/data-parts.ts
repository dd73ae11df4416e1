import {
  type FlinchEvent,
  type FlinchMetadata,
  type FlinchToken,
  type FlinchVerdict,
  type GuardRequest,
  type Method,
  type Part,
  ratedPer,
} from 'flinch-client';

/** A step of an answer, once it is settled. */
export interface FlinchStep {
  /** Id of the answer: the same in all of its parts. A message has an answer for each call of the model. */
  readonly answer: string;
  /** Counts the steps of the answer from 0. */
  readonly step: number;
  /** Joined with that of the other steps it is the text of the answer; steps with a `part` do not belong to it. */
  readonly text: string;
  readonly part?: Part;
  /** `null` if it is unknown, because a token has no score or there is no risk yet. That is not clean. */
  readonly flagged: boolean | null;
  /** Share of ordinary ones that score lower, from 0 to 1. `per` says of what. */
  readonly risk: number | null;
  readonly per: NonNullable<GuardRequest['per']>;
  /** A token or step whose risk is at least 1 − `rate` is conspicuous. */
  readonly rate: number;
  /** The score that `risk` is the rank of. */
  readonly method: Method;
  readonly tokens: readonly { readonly text: string; readonly risk: number | null }[];
  /** Texts that the guard took back and replaced by this step, in order. */
  readonly struck: readonly string[];
}

/** The verdict on an answer, at its end. */
export type FlinchAnswerVerdict = FlinchVerdict & { readonly answer: string };

/** The data parts of a message: `UIMessage<unknown, FlinchDataParts>`. */
export type FlinchDataParts = { 'flinch-step': FlinchStep; 'flinch-verdict': FlinchAnswerVerdict };

/** A data part as a `UIMessageStreamWriter` writes it. */
export type FlinchDataPart = {
  [Name in keyof FlinchDataParts]: { type: `data-${Name}`; id: string; data: FlinchDataParts[Name] };
}[keyof FlinchDataParts];

type Settled = FlinchMetadata['steps' | 'flagged'][number];
type Given = Pick<FlinchMetadata, 'guard' | 'tokens' | 'rollbacks'>;

/** Parts of the steps that these events settle. */
export const stepParts = (answer: string, events: readonly FlinchEvent[], given: Given): FlinchDataPart[] =>
  events.filter(settles).map((event) => stepPart(answer, event, given));

/** Nothing more is said of a step that the guard stopped at. If it was held, it is not in the text. */
const settles = (event: FlinchEvent): event is Settled =>
  event.type === 'step.done' ||
  (event.type === 'step.flagged' && event.action === 'stop' && event.text !== '');

/** @param settled the last that is said of the step */
function stepPart(answer: string, settled: Settled, given: Given): FlinchDataPart {
  const { step, from, to, text, part, risk, method, unscored = 0 } = settled;
  const flagged = settled.type === 'step.flagged' || settled.flagged;
  const judged = risk !== null && unscored === 0;
  const replaced = given.rollbacks.filter((each) => each.step === step && each.outcome === 'replaced');
  return {
    type: 'data-flinch-step',
    id: `${answer}/step-${step}`,
    data: {
      answer,
      step,
      text,
      ...(part && { part }),
      flagged: flagged || (judged ? false : null),
      risk,
      per: ratedPer(given.guard?.per),
      rate: given.guard?.rate ?? 0,
      method,
      tokens: given.tokens
        .slice(from, to)
        .map((token) => ({ text: textOf(token), risk: token.risk?.[method] ?? null })),
      struck: replaced.map(({ candidates }) => candidates[0]?.text ?? ''),
    },
  };
}

const textOf = ({ text, part, part_text }: FlinchToken): string => (part ? (part_text ?? '') : text);

export const verdictPart = (answer: string, verdict: FlinchVerdict): FlinchDataPart => ({
  type: 'data-flinch-verdict',
  id: `${answer}/verdict`,
  data: { answer, ...verdict },
});
