/** `flinch/client`: the same as the package `flinch-client`, which front ends install alone. */
export * from 'flinch-client';
