/** Time for which a gateway keeps what it holds in Redis without a renewal. */
export const LEASE_MS = 10_000;
/** Interval of renewals: three in a row may be lost. */
export const RENEWAL_MS = LEASE_MS / 4;
