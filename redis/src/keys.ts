import { createHash } from 'node:crypto';

/** Where things are in Redis. Ids and epochs are drawn at random; names of keys are the operator's. */
export const keys = {
  places: (place: string) => `flinch:places:${place}`,
  ticket: (hash: string) => `flinch:ticket:${hash}`,
  generation: (id: string) => `flinch:generation:${id}`,
  events: (id: string) => `flinch:generation:${id}:events`,
  /** Of a gateway, by its epoch, as its inbox below. */
  lease: (epoch: string) => `flinch:gateway:${epoch}`,
  inbox: (epoch: string) => `flinch:gateway:${epoch}:inbox`,
  /** Which gateway has a generation, by what its client calls it: any text. */
  request: (owner: string, requestId: string) =>
    `flinch:request:${createHash('sha256')
      .update(JSON.stringify([owner, requestId]))
      .digest('base64url')}`,
};
