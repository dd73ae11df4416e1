/** Control characters, which would vanish or break a file; line breaks and tabs are kept. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROLS = /[\0-\x08\x0b-\x1f\x7f]/g;
/** Characters that no XML or HTML text may hold: C1 controls, noncharacters, halves of a pair. */
const FORBIDDEN = /[\x80-\x9f\ufffe\uffff\ufdd0-\ufdef]|\p{Surrogate}/gu;
/**
 * Characters that turn the text around them, a trick to hide what it says (CVE-2021-42574). Marks of
 * direction are harmless.
 */
const TURNING = /[\u202a-\u202e\u2066-\u2069]/g;

/** A text with nothing in it that is not seen: a model may write anything. */
export function visible(text: string): string {
  return text
    .replaceAll('\r\n', '\n')
    .replace(CONTROLS, (control) =>
      control === '\x7f' ? '\u2421' : String.fromCharCode(0x2400 + control.charCodeAt(0)),
    )
    .replace(FORBIDDEN, '\ufffd')
    .replace(TURNING, (mark) => `⟨U+${mark.charCodeAt(0).toString(16).toUpperCase()}⟩`);
}
