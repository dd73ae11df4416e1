import { isFunctional, type Relation, wordOf } from './ccp.js';

/**
 * Relation of two tokens by rules alone: the light substitute if there is no NLI model (`ccp-rules`). The
 * rules know numbers, operators and common opposites, in which a step of mathematics or logic goes wrong, and
 * treat all other words as unrelated.
 */

/** Operators and relations; those of one line mean the same. */
const SYMBOLS = [
  '+',
  '- − –',
  '* × · \\times \\cdot',
  '/ ÷ \\div',
  '= ==',
  '< \\lt',
  '> \\gt',
  '≤ <= \\le \\leq',
  '≥ >= \\ge \\geq',
  '≠ != \\ne \\neq',
  '^ **',
  '± \\pm',
  '≈ \\approx',
  '≡ \\equiv',
  '→ -> \\to \\rightarrow',
  '⇒ => \\implies \\Rightarrow',
  '∈ \\in',
  '∉ \\notin',
  '∪ \\cup',
  '∩ \\cap',
].map((line) => line.split(' '));

const MEANING: ReadonlyMap<string, number> = new Map(
  SYMBOLS.flatMap((same, meaning) => same.map((symbol) => [symbol, meaning] as const)),
);

const NUMBER_WORDS: ReadonlyMap<string, number> = new Map(
  `zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
  eighteen nineteen twenty`
    .split(/\s+/)
    .map((word, value) => [word, value]),
);

const OPPOSITES: ReadonlySet<string> = new Set(
  `true/false left/right right/wrong before/after valid/invalid yes/no lying/telling lies/tells liar/truthful first/last
  odd/even positive/negative more/less more/fewer most/least greater/less greater/smaller larger/smaller
  greatest/smallest largest/smallest higher/lower highest/lowest bigger/smaller longer/shorter increase/decrease
  increases/decreases increasing/decreasing increased/decreased add/subtract adding/subtracting plus/minus
  multiply/divide multiplying/dividing times/divided sum/difference product/quotient numerator/denominator
  maximum/minimum max/min above/below over/under up/down north/south east/west forward/backward forwards/backwards
  front/back clockwise/counterclockwise correct/incorrect possible/impossible always/never all/none same/different
  earlier/later early/late earliest/latest older/younger oldest/newest oldest/youngest old/new start/end begin/end
  inside/outside in/out open/closed buy/sell bought/sold gain/lose profit/loss gains/loses win/lose with/without
  horizontal/vertical row/column rational/irrational prime/composite truth/lie and/or can/cannot`
    .split(/\s+/)
    .flatMap((pair) => [pair, pair.split('/').toReversed().join('/')]),
);

/** Function words among them, such as "before" and "no". */
const HAVE_OPPOSITES: ReadonlySet<string> = new Set([...OPPOSITES].flatMap((pair) => pair.split('/')));

/** A number, with what punctuation may stand around it. */
const NUMBER = /^[^\d\p{L}+−-]*([+−-]?\d[\d,]*(?:\.\d+)?)(%?)[^\d\p{L}%]*$/u;
const COMMAND = /^\\\p{L}+$/u;

/**
 * Same as {@link isFunctional}, but operators have a meaning here, and so have words with an opposite: a "no"
 * can be wrong.
 */
export function isFunctionalByRules(text: string): boolean {
  const word = wordOf(text);
  return !MEANING.has(text.trim()) && !HAVE_OPPOSITES.has(word.toLowerCase()) && isFunctional(word);
}

/**
 * Rules in this order: the same text → entail; numbers, by value; operators, LaTeX commands: different →
 * contra; opposites → contra; all else neutral.
 * @param text the token that is there, with its white space
 * @param other an alternative
 * @param before the text before both: a token that continues a word, a piece of it, means nothing alone
 */
export function relateByRules(text: string, other: string, before: string): Relation {
  const [a, b] = [text, other].map((one) => one.normalize('NFKC').trim());
  const [word, otherWord] = [a!, b!].map((one) => wordOf(one).toLowerCase());
  if (a === b || (word !== '' && word === otherWord && !isNegated(a!, b!))) return 'entail';
  const [x, y] = [numberOf(a!), numberOf(b!)];
  if (x !== null && y !== null) return x === y ? 'entail' : 'contra';
  const [meaning, otherMeaning] = [MEANING.get(a!), MEANING.get(b!)];
  if (meaning !== undefined && otherMeaning !== undefined) {
    return meaning === otherMeaning ? 'entail' : 'contra';
  }
  if (COMMAND.test(a!) && COMMAND.test(b!)) return 'contra';
  if (isPiece(text, before) || isPiece(other, before)) return 'neutral';
  return OPPOSITES.has(`${word}/${otherWord}`) ? 'contra' : 'neutral';
}

/** Whether one of two equal words is a number with a sign that the other has not. */
function isNegated(a: string, b: string): boolean {
  const [x, y] = [numberOf(a), numberOf(b)];
  return x !== null && y !== null && x !== y;
}

function numberOf(text: string): number | null {
  const word = NUMBER_WORDS.get(wordOf(text).toLowerCase());
  if (word !== undefined) return word;
  const [, digits, percent] = NUMBER.exec(text) ?? [];
  if (digits === undefined) return null;
  const value = Number(digits.replaceAll(',', '').replace('−', '-'));
  return percent === '%' ? value / 100 : value;
}

const isPiece = (text: string, before: string): boolean => /^\p{L}/u.test(text) && /\p{L}$/u.test(before);
