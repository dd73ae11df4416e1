/** Words that need no quotes in a shell. */
const PLAIN = /^[\w@%+=:,./~-]+$/;

/** A word of a command that can be copied into a shell. */
export const shellWord = (text: string): string =>
  PLAIN.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
