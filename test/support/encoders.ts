import type { Encoders } from '#bench/encoder/encoders.js';

/** Every measure by its substitute. */
export const NO_ENCODERS: Encoders = { relate: null, compare: null, embed: null };
