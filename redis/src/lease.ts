/** For so long what a gateway holds in Redis is its own without a word from it. */
export const LEASE_MS = 10_000;
/** How often it says so: three of these may be lost. */
export const RENEWAL_MS = LEASE_MS / 4;
