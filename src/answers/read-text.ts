import type { AnswerKey, Reading } from './answer-kind.js';
import type { FinalText } from './final-text.js';
import { mentionsOf } from './mentions.js';
import { plainText } from './plain-text.js';
import { isNegated } from './polarity.js';
import { overlap } from './question-words.js';

/** Share of the key's words below which a response says something else. */
const ELSE = 0.25;

/** Reads whether a response has the words of a longer key; one that says it in other words is unsure. */
export function readText({ marked, sentences }: FinalText, { answers }: AnswerKey): Reading {
  const whole = sentences.join(' ');
  const verdicts = answers.map((answer): boolean | null => {
    const key = plainText(answer).trim();
    const said = sentences.length === 0 ? [] : mentionsOf(key, whole);
    if (said.some(({ denied }) => !denied)) {
      const holder = sentences.find((sentence) => mentionsOf(key, sentence).length > 0) ?? '';
      return isNegated(holder) && !isNegated(key) ? (holder.length > key.length * 2 ? null : false) : true;
    }
    return said.length > 0 || overlap(key, whole) < ELSE ? false : null;
  });
  const correct = verdicts.includes(true) ? true : verdicts.includes(null) ? null : false;
  return { extracted: (marked ?? whole) || null, correct };
}
