import type { AnswerKey, Reading } from './answer-kind.js';
import { CORRECTS } from './denial.js';
import type { FinalText } from './final-text.js';
import { plainText } from './plain-text.js';
import { verdict } from './read-name.js';

const letterOf = (index: number): string => String.fromCharCode(65 + index);

/** Reads the letter that a response chooses, wherever it stands, or else the option that it names. The article is no letter. */
export function readChoice(text: FinalText, { question, answers, choices }: AnswerKey): Reading {
  const options = (choices ?? []).map((option) => plainText(option).trim());
  const chosen = chosenLetter(text, options) ?? chosenOption(text, options, question);
  if (chosen === null) return { extracted: null, correct: false };
  if (chosen === UNSURE) return { extracted: null, correct: null };
  return { extracted: chosen, correct: answers.includes(chosen) };
}

/** Several letters or options, of which none is marked. */
const UNSURE = '?';

function chosenLetter({ marked, sentences }: FinalText, options: readonly string[]): string | null {
  const letters = options.map((_, i) => letterOf(i)).join('') || 'ABCDEFGHIJKLMNOPQR';
  if (marked !== null) {
    const found = lettersIn(marked, letters, options).filter(({ denied }) => !denied);
    const [first] = found;
    if (first) return first.letter;
  }
  const said = sentences.flatMap((sentence) =>
    lettersIn(sentence, letters, options)
      .filter(({ denied }) => !denied)
      .map((mention) => ({ ...mention, sentence })),
  );
  const denied = new Set(
    sentences.flatMap((one) =>
      lettersIn(one, letters, options).flatMap((each) => (each.denied ? each.letter : [])),
    ),
  );
  const left = [...letters].filter((letter) => !denied.has(letter));
  if (said.length === 0 && options.length > 1 && left.length === 1) return left[0]!;
  if (said.some(({ sentence }) => CORRECTS.test(sentence))) return said.at(-1)!.letter;
  const concluded = said.filter(({ concludes }) => concludes);
  const alone = said.filter((one) => one.alone);
  for (const group of [alone, concluded, said]) {
    const found = [...new Set(group.map(({ letter }) => letter))];
    if (found.length === 1) return found[0]!;
    if (found.length > 1 && group === concluded) return concluded.at(-1)!.letter;
    if (found.length > 1) return UNSURE;
  }
  return null;
}

interface Letter {
  readonly letter: string;
  readonly denied: boolean;
  /** It is named as the choice: "option B", "so B", "B is correct". */
  readonly concludes: boolean;
  /** The sentence has no other word. */
  readonly alone: boolean;
}

const BEFORE = String.raw`(?<![\p{L}\p{N}'-])`;
const DENIES =
  /(?<!\p{L})(?:not|isn't|nor|neither|than|unlike|excludes?|eliminates?)\s+(?:option\s+|choice\s+)?[([{"']*$/iu;
const REJECTED =
  /^[)\]}"'.:]*(?:\s*(?:,|and|or)\s*\(?[A-R]\)?)*\s+(?:is|are|was)\s+(?:not|wrong|incorrect|false|out|impossible)|^[)\]]*\s+(?:isn't|aren't|cannot|can't|does not|do not)/iu;
const CHOSEN =
  /(?<!\p{L})(?:answer|option|choice|choose|pick|select|so|therefore|thus|hence|is|be|with|only|go for)\s*(?:is|be)?\s*:?\s*(?:option\s+|choice\s+|letter\s+)?[([{"']*$|:\s*[([]*$/iu;
const CORRECT =
  /^[)\]}"'.:]*\s+(?:\([^)]*\)\s+)?(?:is|was|seems|must be|would be)\s+(?:the\s+)?(?:right|correct|best|true|answer)/iu;
/** Words that may stand after a letter; after the article stand others. */
const AFTER = String.raw`(?=\s*(?:$|[)\]}"'.,:;!?=/|-])|\s+(?:because|since|as|is|was|and|but|or|not|are|would|seems|must|for|with|\())`;

/** Letters that a text names: large ones, small ones in brackets or alone. */
function lettersIn(text: string, letters: string, options: readonly string[]): Letter[] {
  const small = letters.toLowerCase();
  const pattern = new RegExp(
    `${BEFORE}(?:([${letters}])${AFTER}|\\(([${letters}${small}])\\)|\\[([${letters}${small}])\\]|"([${letters}${small}])"|(?<=(?:choose|pick|select|option|choice)\\s+)([${small}])(?=[.,]|\\s*$)|([${small}])(?=\\)))|^[^\\p{L}\\p{N}]*([${small}])(?=[^\\p{L}\\p{N}]*$|:\\s|\\s+because|\\.\\s)`,
    'gu',
  );
  return [...text.matchAll(pattern)].flatMap((match) => {
    const letter = match
      .slice(1)
      .find((group) => group !== undefined)!
      .toUpperCase();
    const [start, end] = [match.index, match.index + match[0].length];
    const [before, after] = [text.slice(0, start), text.slice(end)];
    // "A and B" may be two letters; "A, as I said" and "I" are words.
    if (letter === 'I' && /^(?:\s+(?:am|was|would|think|is|and)|,)/.test(after)) return [];
    if (
      match[1] === 'A' &&
      /^\s+(?:for|with|is|as|or|not|was)(?!\p{L})/u.test(after) &&
      !CORRECT.test(after) &&
      !REJECTED.test(after) &&
      before.trim() === '' &&
      !/^\s+is\s/.test(after)
    )
      return [];
    const isNo = /^no(?!\p{L})/iu.test(options[letter.charCodeAt(0) - 65] ?? '');
    const alone = !/[\p{L}\p{N}]/u.test(before + after);
    return [
      {
        letter,
        denied:
          DENIES.test(before) || REJECTED.test(after) || (/^[)\]]?\s+no(?!\p{L})/u.test(after) && !isNo),
        concludes: CHOSEN.test(before) || CORRECT.test(after),
        alone,
      },
    ];
  });
}

/** The option whose text is the answer. */
function chosenOption(text: FinalText, options: readonly string[], question: string): string | null {
  const verdicts = options.map((option) => (option === '' ? false : verdict(text, option, question)));
  const said = options.flatMap((option, i) =>
    verdicts[i] === true ? [{ option, letter: letterOf(i) }] : [],
  );
  // "Carbon dioxide" names "carbon", too.
  const longest = said.filter(
    ({ option }) =>
      !said.some(
        (other) => other.option !== option && other.option.toLowerCase().includes(option.toLowerCase()),
      ),
  );
  if (longest.length === 1) return longest[0]!.letter;
  return longest.length > 1 || verdicts.includes(null) ? UNSURE : null;
}
