import { endsSentence, isCloser, isFullStop } from '../steps/sentence-breaks.js';
import { lastBoxed } from './boxed.js';
import { plainText } from './plain-text.js';

/** What a response says in the end. Texts are plain, see {@link plainText}. */
export interface FinalText {
  /** What it marks as its answer: its last box, or what follows "the answer is"; `null` without. */
  readonly marked: string | null;
  /** All of it, without thoughts, by sentences and lines. */
  readonly sentences: readonly string[];
}

/** Characters that are read of a longer response, from where answers are. */
const [BEGINNING, END] = [2048, 6144];

const OPENED = /<(think|thinking|thought|reasoning)>|\[THINK\]/i;
const CLOSED = /^[\s\S]*(?:<\/(?:think|thinking|thought|reasoning)>|\[\/THINK\])/i;
const WORD = 'answer|antwort|respuesta|réponse|risposta|resposta|ответ';
const MARK = new RegExp(
  String.raw`(?<![\p{L}])(?:${WORD})(?:\s+(?:is|was|ist|es|est|è|é)(?![\p{L}])\s*:?|"?\s*:|\s*=)|(?:答案|答え)\s*(?:是|为|為|は)?\s*:?|(?<![\p{L}])(?:result|solution|choice|correct (?:option|choice)|final value)(?:\s*:|\s+is(?![\p{L}])\s*:?)|####`,
  'giu',
);
const TAGGED = /<answer>([\s\S]*?)<\/answer>/gi;
const IN_JSON =
  /["']?\b(?:final_)?(?:answer|choice)["']?\s*:\s*("(?:[^"\\]|\\.)*"|\[[^\]]*\]|[-\w.]+)\s*[,}]/gi;

/** Thoughts are no answer; those that never end leave nothing. */
export const withoutThoughts = (response: string): string => {
  const rest = response.replace(CLOSED, '');
  const open = OPENED.exec(rest);
  return open ? rest.slice(0, open.index) : rest;
};

export function finalText(response: string): FinalText {
  const whole = withoutThoughts(response);
  const spoken =
    whole.length > BEGINNING + END ? `${whole.slice(0, BEGINNING)}\n${whole.slice(-END)}` : whole;
  const plain = plainText(spoken);
  const marked = lastBoxed(spoken) ?? lastGroup(spoken, TAGGED) ?? unquoted(lastGroup(spoken, IN_JSON));
  return {
    marked: marked === null ? stated(plain) : plainText(marked).trim(),
    sentences: sentencesOf(plain),
  };
}

const lastGroup = (text: string, pattern: RegExp): string | null =>
  [...text.matchAll(pattern)].at(-1)?.[1]?.trim() || null;

const unquoted = (json: string | null): string | null => json?.replace(/^"|"$/g, '') ?? null;

/** What follows the last mark on its line, or on the next one. */
function stated(plain: string): string | null {
  const mark = [...plain.matchAll(MARK)].at(-1);
  if (!mark) return null;
  const [line = ''] = plain
    .slice(mark.index + mark[0].length)
    .trim()
    .split('\n');
  // After a word a number with a point is none of a list.
  return sentencesOf(`: ${line}`)[0]?.slice(2) ?? null;
}

export function sentencesOf(plain: string): string[] {
  const sentences: string[] = [];
  for (const line of plain.split('\n')) {
    let start = 0;
    for (let at = 0; at < line.length; at += 1) {
      if (isFullStop(line[at]!) && !isCloser(line[at + 1] ?? '')) {
        sentences.push(line.slice(start, at + 1));
        start = at + 1;
      } else if (line[at] === ' ' && endsSentence(line, start, at, line[at + 1] ?? '')) {
        sentences.push(line.slice(start, at));
        start = at + 1;
      }
    }
    sentences.push(line.slice(start));
  }
  return sentences.map((one) => one.trim()).filter((one) => /[\p{L}\p{N}]/u.test(one));
}
