import { createHash } from 'node:crypto';

/** Time for which a gateway keeps what it holds in Redis without a renewal. */
export const LEASE_MS = 10_000;
/** Interval of renewals: three in a row may be lost. */
export const RENEWAL_MS = LEASE_MS / 4;

/** Keys in Redis. Ids and epochs are drawn at random; names of access keys are the operator's. */
export const keys = {
  slots: (pool: string) => `flinch:places:${pool}`,
  ticket: (hash: string) => `flinch:ticket:${hash}`,
  generation: (id: string) => `flinch:generation:${id}`,
  events: (id: string) => `flinch:generation:${id}:events`,
  /** Lease of a gateway, by its epoch, as its inbox below. */
  lease: (epoch: string) => `flinch:gateway:${epoch}`,
  inbox: (epoch: string) => `flinch:gateway:${epoch}:inbox`,
  /** Gateway that has a generation, by the client's `request_id`, which is any text. */
  request: (owner: string, requestId: string) =>
    `flinch:request:${createHash('sha256')
      .update(JSON.stringify([owner, requestId]))
      .digest('base64url')}`,
};
