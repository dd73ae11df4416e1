const YES = 'yes|yeah|yep|true|correct|sí|si|oui|ja|是|是的|да';
const NO = 'no|nope|false|incorrect|non|nein|nee|否|不是|нет';
const ALONE = new RegExp(`^["'([{]*(?:(${YES})|(${NO}))["')\\]}.!]*$`, 'iu');
/** At the beginning: "No, …", but not "No doubt". */
const BEGINS = new RegExp(
  `^["'([{]*(?:(${YES})|(${NO}))["')\\]}]*(?=\\s*(?:[,.;:!—–-]|$)|\\s+(?:because|since|as|it|he|she|they|this|that|there|i|the)(?!\\p{L}))`,
  'iu',
);
const ANYWHERE =
  /(?<![\p{L}-])(?:(yes|true|ja|oui)|(no(?!\s+\p{L})|no(?=\s+(?:is|would be)\s)|nope|false|nein|non))(?![\p{L}-])/giu;
const NEGATED = /(?<!\p{L})(?:not|cannot|never|neither|nor|n't)(?!\p{L})|n't(?!\p{L})/iu;

/** Yes or no alone; `null` for all else. */
export function polarityOf(text: string): boolean | null {
  const found = ALONE.exec(text.trim());
  return found && found[1] !== undefined;
}

/** With what word a text begins. */
export function polarityBefore(text: string): boolean | null {
  const found = BEGINS.exec(text.trim());
  return found && found[1] !== undefined;
}

/** The yes and no that a text holds, "not yes" for no. */
export const polaritiesIn = (text: string): boolean[] =>
  [...text.matchAll(ANYWHERE)].map(
    ({ 0: word, 1: yes, index }) =>
      (yes !== undefined) !==
      (/\bnot\s+"?$/i.test(text.slice(0, index)) ||
        /^"?\s+(?:is|would be)\s+(?:wrong|incorrect)/i.test(text.slice(index + word.length))),
  );

export const isNegated = (text: string): boolean => NEGATED.test(text);
