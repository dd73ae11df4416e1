import chalk, { chalkStderr } from 'chalk';

/** Colours of standard output and of standard error. chalk reads FORCE_COLOR and TERM, but not NO_COLOR (no-color.org). */
const { NO_COLOR, FORCE_COLOR } = process.env;
if (NO_COLOR && FORCE_COLOR === undefined) for (const each of [chalk, chalkStderr]) each.level = 0;

export { chalk, chalkStderr };
