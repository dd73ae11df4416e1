/**
 * Characters that a terminal obeys instead of showing (C0, DEL and C1), and those that reorder or end a line
 * for its reader: bidi embeddings, overrides and isolates (UAX #9), U+2028 and U+2029. Line feeds, tabs, and
 * line ends of Windows are not included.
 */
const CONTROLS = /(?!\n|\t|\r\n)[\p{Cc}\u2028-\u202e\u2066-\u2069]/gu;

/** Text from elsewhere as a person may see it: controls as escapes of JSON, so that JSON remains what it was. */
export const visible = (text: string): string => text.replace(CONTROLS, escaped);

/** The same for a text within a line, which it must not end: a line that looks like one of ours could follow. */
export const visibleLine = (text: string): string => visible(text).replace(/[\n\t\r]/g, escaped);

const escaped = (control: string): string => `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`;
