import type { Evaluation } from '../../records/evaluation.js';
import type { CaseBlock, CaseMeasure, CaseToken, Section, TokenHeat } from '../document.js';
import { measureLabel } from '../measure-label.js';
import { perRun } from '../per-run.js';
import type { Run } from '../runs.js';

type CaseStudy = Evaluation['cases'][number];

/** Some responses, token by token. */
export function casesSection(runs: readonly Run[]): Section | null {
  const blocks = perRun(runs, ({ evaluation: { cases, singleStep } }) =>
    inOrder(cases).map((study, place) => caseBlock(marked(study, singleStep), place >= OPEN_CASES)),
  );
  if (blocks.length === 0) return null;
  const lead =
    'Examples, not statistics. A deeper colour means that the token’s score ranks higher within its response; ¹ ² ³ are the three highest. ⟦ and ⟧ enclose what is wrong: the first wrong step, or the words of unsupported statements.';
  return { id: 'cases', title: 'Case studies', blocks: [{ kind: 'text', text: lead }, ...blocks] };
}

/** Where the first wrong step is the whole answer there is nothing to enclose. */
export const marked = <T extends CaseStudy>(study: T, singleStep: boolean): T =>
  singleStep ? { ...study, wrong: [] } : study;

/** First those with something to find. */
const inOrder = (cases: readonly CaseStudy[]): CaseStudy[] =>
  [...cases].sort((a, b) => Number(b.wrong.length > 0) - Number(a.wrong.length > 0));

/** Cases that are open; further ones are folded. */
const OPEN_CASES = 2;

export function caseBlock(study: CaseStudy, folded: boolean): CaseBlock {
  const tokens = caseTokens(study);
  const located = tokens.some(({ wrong }) => wrong);
  return {
    kind: 'case',
    title: titleOf(study),
    folded,
    question: study.question,
    verdict: study.verdict,
    tokens,
    measures: Object.entries(study.tokens).map(([name, scores]): CaseMeasure => {
      const heats = tokenHeats(scores);
      const hit = heats.some(({ rank }, i) => rank !== null && tokens[i]?.wrong === true);
      return { label: measureLabel(name), scores: heats, hit: located ? hit : null };
    }),
  };
}

function titleOf({ id, subset, verdict }: CaseStudy): string {
  if (verdict.of === 'answer') return `${id}, ${subset}: ${verdict.correct ? 'right' : 'wrong'}`;
  const { supported, unsupported } = verdict;
  return `${id}: ${unsupported} of ${supported + unsupported} statements unsupported`;
}

/** A token belongs to the step that holds its first character that is not blank; a blank one goes with its beginning. */
function caseTokens({ tokenTexts, wrong }: CaseStudy): CaseToken[] {
  let end = 0;
  return tokenTexts.map((text) => {
    const start = end;
    end += text.length;
    const ink = start + Math.max(0, text.search(/\S/));
    return { text, wrong: wrong.some(([from, to]) => ink >= from && ink < to) };
  });
}

/** A score equal to the lowest is no doubt, however many share it (docs/design/evaluation.md, section 0.1). */
export function tokenHeats(scores: readonly (number | null)[]): TokenHeat[] {
  const known = scores.filter((score) => score !== null).sort((a, b) => a - b);
  return scores.map((score) => {
    if (score === null) return { score, quantile: 0, rank: null };
    const lower = known.findIndex((other) => other >= score);
    const higher = known.length - known.findLastIndex((other) => other <= score) - 1;
    return { score, quantile: lower / known.length, rank: higher < 3 && lower > 0 ? higher + 1 : null };
  });
}
