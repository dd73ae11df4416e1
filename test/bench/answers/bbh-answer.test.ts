import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type BbhKind, bbhKind, bbhOptions, readBbhAnswer } from '#bench/answers/bbh-answer.js';
import { HAS_SHARED_DATA, NEEDS_DATA, readShared, sharedFiles } from '../../support/shared-data.js';

const QUESTION = 'Which lamp is lit?\nOptions:\n(A) red lamp\n(B) dark red lamp\n(C) 7 to 9';

describe('bbhOptions', () => {
  it('reads texts', () => {
    expect(bbhOptions(QUESTION)).toEqual(['red lamp', 'dark red lamp', '7 to 9']);
  });
});

describe('readBbhAnswer', () => {
  it.each([
    ['the letter after "the answer is"', 'Not (A). So the answer is (B).', '(B)'],
    ['the first letter there', 'The answer is (B), because (A) is not.', '(B)'],
    ['the last statement', 'The answer is (A). No: the final answer: (C)', '(C)'],
    ['a box', 'The answer is (A) or $\\boxed{\\text{(B)}}$', '(B)'],
    ['a bare letter in a box', '\\boxed{C}', '(C)'],
    ['a bare letter', 'The answer is B.', '(B)'],
    ['a bold letter', 'I choose **C**', '(C)'],
    ['an option by name', 'Only Option B is left.', '(B)'],
    ['a small letter in brackets', 'Answer: (b)', '(B)'],
    ['a capital letter before a small one', 'As in (a) above: (B)', '(B)'],
    ['a small bold letter', 'I choose **c**.', '(C)'],
    ['what the option is', 'Not the red one. The correct option is B', '(B)'],
    ['what the option is, after a colon', 'The correct option is: **B**', '(B)'],
    ['the text of an option after "option is"', 'The right option is a red lamp', '(A)'],
    ['the text of an option', 'The answer is the dark red lamp!', '(B)'],
    ['the text of the shorter option', 'The answer is: Red Lamp.', '(A)'],
    ['the last letter in brackets', 'It is (A), or rather (C)', '(C)'],
    ['a letter after a colon', 'So: B', '(B)'],
    ['what was said before a remark', 'It is (B). The answer is easy to see.', '(B)'],
    ['nothing of a letter that is no option', 'The answer is (F).', null],
    ['nothing of an article', 'The answer is A bit hard to tell.', null],
  ])('finds %s', (_, response, expected) => {
    expect(readBbhAnswer(response, QUESTION, '(B)').extracted).toBe(expected);
  });

  it.each([
    ['Yes', 'No, wait. So the answer is Yes.', 'Yes'],
    ['Yes', 'Elanor knows. **NO**', 'No'],
    ['Yes', 'Nothing is known.', null],
    ['valid', 'It seems valid. The answer is: invalid.', 'invalid'],
    ['valid', 'So the argument is not deductively valid.', 'invalid'],
    ['valid', 'The premises validate it: valid', 'valid'],
  ])('finds %s in "%s"', (reference, response, expected) => {
    expect(readBbhAnswer(response, '', reference).extracted).toBe(expected);
  });
});

const files = z.object({ examples: z.array(z.object({ input: z.string(), target: z.string() })) });
const OTHER: Readonly<Record<string, string>> = { Yes: 'No', No: 'Yes', valid: 'invalid', invalid: 'valid' };

/** Ways to say an answer, after some thought that names others. */
function sentences(kind: BbhKind, target: string, text: string): string[] {
  const bare = target.replace(/[()]/g, '');
  const general = [
    `So the answer is ${target}.`,
    `The answer is: ${target}`,
    `the final answer is **${target}**. Not what one expects.`,
    `$\\boxed{\\text{${target}}}$`,
    `Therefore, the answer is ${bare}.`,
    `Let us see.\n**${target}**`,
  ];
  if (kind !== 'option') return [...general, `${OTHER[target]} would be wrong. ${target}.`];
  return [
    ...general,
    `The correct choice is Option ${bare}.`,
    `The answer is ${text}.`,
    `(Q) no, (R) no; ${target} ${text}`,
  ];
}

describe.skipIf(!HAS_SHARED_DATA)(`on BBH${NEEDS_DATA}`, () => {
  it('reads every target from natural sentences', () => {
    const missed: string[] = [];
    let cases = 0;
    for (const file of sharedFiles('bbh', '.json')) {
      for (const { input, target } of files.parse(JSON.parse(readShared(`bbh/${file}`))).examples) {
        const kind = bbhKind(target);
        if (kind === null) throw new Error(`${file}: ${target}`);
        const text = bbhOptions(input)[target.charCodeAt(1) - 65] ?? '';
        for (const sentence of sentences(kind, target, text)) {
          cases += 1;
          const { extracted, correct } = readBbhAnswer(
            `Let's think step by step. ${sentence}`,
            input,
            target,
          );
          if (!correct) missed.push(`${file}: ${sentence} → ${extracted}`);
        }
      }
    }
    expect(cases).toBe(2000 * 9 + 750 * 7);
    expect(missed).toEqual([]);
  });
});
