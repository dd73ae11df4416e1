import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { answerScore, segmentText, stepScore, weigh } from '#src/index.js';
import { kindOfStep } from '#src/risk/step-score.js';
import { StepAligner } from '#src/steps/step-aligner.js';
import { STEP_RULE_VERSION } from '#src/steps/step-rule.js';
import { TokenSteps } from '#src/steps/token-steps.js';

/** Texts that hold what the rule looks at. They may grow, but what is here stays as it is. */
const TEXTS: Readonly<Record<string, string>> = {
  sentences:
    'One is odd. Two is even! Is 3? 4 is not… So “it is.” Then (so it is.) It is **bold.** It is ‘so.’ End. and on. Ünd. It is B. 5 is not. Then x = 3.14 or 2.5. 7 is more; it ends: here. *Or* not. \\(x\\) is. $x$ is. _So._ Then `it.` Is.',
  lines:
    ' \n One is odd\n\nTwo is\r\neven.\tSo it is.   \n\n\n  Then three\u2028and four\u00a0five. \u3000Six',
  lists:
    '1. First we add.\n2. Then we stop. So it is.\n10. Done.\n1.2. Or so. It is.\na. Or so.\nii. Or not. Then.\n- \nfirst thing\n* second. Thing\n• third\n1.\n\nSecond\n**2.**\nThird\n##\nTitle\n(a)\nLast. (b) One more.\n---\nThe end\n> 3. Quoted. Text\nviii. Too long a number. Is it?\n1234. No list. Is it?',
  short:
    'A\nb\nSo it is.\n:)\nFirst one.\n7!\nSecond. 7! Third one\nab\nabc\nIt is 𝐀𝐁. 𝐂 is it. x. Y. Zed is.\n7',
  abbreviations:
    'See e.g. Bob or i.e. Al vs. Dr. No and Eq. (3), Eqs. (4) and Fig. 5, Figs. 6 by Mr. X, Mrs. Y, Ms. Z, Prof. A and cf. B in St. Ives, No. 5. No. Then it is not. It is the 1st. He adds. They bust. It is J. R. Smith of the U.S. Army. He is approx. five. E.g. This. I.e. That. Ph.D. Done. Etc. Done, Inc. Too. One, etc. Two, approx. Three at myProf. Four luvs. Five.',
  formulas:
    'We get $a. B\\$. C$ and \\(d. E\\) too. It is 5 $ or so. Then $ is it. From A$5. To B$6. It costs $5. Then $6. It is \\$5. Then 6$ is it. It is $a. But\nc$ is it. So $x$7 is. Is it $x. Y$ 7 too. $f(x. $Y is. We get\n$$\na. B\n\nc\n$$\n\\[\nx = 1.\nY\n\\]\n\\begin{align*}\na. B\n\\end{align}\n\\end{align*}\n\\begin{1} a. B \\end{1} A\\\\$x. Y$. Done. \\( a. B\nC \\) is. It is $ x. Y$ so.',
  'formulas of a length': `It is \\(a. B${'x'.repeat(395)}\\) so. It is \\(a. B${'y'.repeat(396)}\\) so. It is $a. B${'z'.repeat(396)}$ so. It is $a. B${'z'.repeat(397)}$ so. `,
  'a formula that never ends': 'We get\n\\[ x = 1.\nY\n\nZ. A',
  code: 'We run:\n```js\na. B\n\nc()\n```\nDone. ```a```. Then it is.\n```b```. Then so.\n  ````md\nx. Y\n  ````\nIt is `a. B` so. Then ``` c. D\nis it.\n```\nx. Y\n',
  CJK: '你好。是吗？」真的！！好吧。\n完成了。 Then。So it is｡また（そう。）ね。「はい。」と言った。《书》。三。四五六七。한국어. 다음. 「a.」 B．C！！！」真。。。」 好',
  'other scripts':
    'यह है। वह नहीं। दो॥ तीन। هل هذا؟ نعم هو. Это так. И это. это. Ναι. Όχι; Τέλος. ǅa. ǅb is. ٣ is. It is. ٣ is.',
  tables:
    '| a | b |\n| --- | ---: |\n| 1. One | 2. Two. Three |\n|\n| x | $y. Z$ |\n\na\tb. C\td\n1\t2\nName: Bob. Age: 5.\n=====\nThe end.\n~~~\nLast',
  'long words': `x${'😀'.repeat(1500)}\n${'x'.repeat(2000)}\n${'y'.repeat(2001)}\nEnd. So.`,
  'long lines': `${'word '.repeat(500)}\n\\[ a${'word '.repeat(500)}\\]\n${' '.repeat(2001)}It is. So.\n${'it is so, '.repeat(199)}it is. Then. ${'1.\n'.repeat(900)}End`,
  'markers of a length': `${'-'.repeat(22)}\n${'-'.repeat(23)}\n${'-'.repeat(24)}\n${'-'.repeat(25)}\nSo\n${'='.repeat(24)}\nIt is\n${'='.repeat(25)}\nIt was\n${' '.repeat(22)}1. So it is\n${' '.repeat(24)}1. So it is\n`,
};

/** Under this version, the texts are split and scored in the way that these digests say. */
const GOLDEN = {
  version: 3,
  digests: {
    sentences: 'd5e8ae0f68b2cb1c',
    lines: 'e20c8684e7badf41',
    lists: '2fb8ca32141f6a68',
    short: '5c270f2dd0e75411',
    abbreviations: '050901862ce26ad4',
    formulas: 'd02ed7250d45c057',
    'formulas of a length': 'e9cc2ccc2df9d882',
    'a formula that never ends': 'b29948712507f471',
    code: 'b7de5cdc14d08abd',
    CJK: '4b6b333f51833a90',
    'other scripts': '7702b229e9668641',
    tables: 'f96b46280436d788',
    'long words': 'fc9c26473b373fef',
    'long lines': '3f238aed6ded80c1',
    'markers of a length': 'd1a9e831224f1e70',
  },
};

/** Tokens as a model may write them: up to six letters with the space before them, digits, signs, and empty ones between. */
const tokensOf = (text: string): string[] =>
  (text.match(/ ?\p{L}{1,6}|\p{N}{1,3}| ?[^\s\p{L}\p{N}]{1,3}|\s*\n|\s+(?!\S)|\s/gu) ?? []).flatMap(
    (token, i) => (i % 7 === 3 ? ['', token] : [token]),
  );

/** What scores and calibrations depend on: the steps, their tokens and scores, and the tokens that may begin one. */
function stepsOf(text: string): object {
  const tokens = tokensOf(text);
  const spans = new TokenSteps();
  const aligner = new StepAligner();
  const scored = tokens.map((text) => ({ text, score: 1 }));
  return {
    steps: segmentText(text).map((step) => step.text),
    spans: [...tokens.flatMap((token) => spans.push(token)), ...spans.end()].map(({ from, to, step }) => [
      from,
      to,
      stepScore(scored.slice(from, to), step).toFixed(6),
      kindOfStep(tokens.slice(from, to)),
    ]),
    begins: tokens.flatMap((token, i) => (aligner.begins(token) ? [i] : [])),
    answer: answerScore(weigh(scored)).toFixed(6),
  };
}

const digestOf = (text: string): string =>
  createHash('sha256')
    .update(JSON.stringify(stepsOf(text)))
    .digest('hex')
    .slice(0, 16);

describe('the rule for steps', () => {
  it.each(Object.entries(TEXTS))('reads all of a text as tokens: %s', (_, text) => {
    expect(tokensOf(text).join('')).toBe(text);
  });

  it('has another version if it splits or scores a text in another way', () => {
    const found = Object.fromEntries(Object.entries(TEXTS).map(([name, text]) => [name, digestOf(text)]));
    const advice =
      'the rule for steps has changed: raise STEP_RULE_VERSION in src/steps/step-rule.ts, so that calibrations of before are refused; write the new version and digests here; run flinch calibrate again for the models of this repository';
    expect({ version: STEP_RULE_VERSION, digests: found }, advice).toEqual(GOLDEN);
  });
});
