import type { Exchange } from '#gateway/upstream/wire/exchange.js';

/** An exchange that has these bytes as its body. */
export function exchangeOf(pieces: Iterator<Uint8Array>): Exchange {
  const exchange: Pick<Exchange, 'patience' | 'read' | 'leave' | 'cancel'> = {
    patience: { firstMs: 1000, nextMs: 1000 },
    read: async () => {
      const { done, value } = pieces.next();
      return done === true ? null : value;
    },
    leave: () => {},
    cancel: () => {},
  };
  return exchange as Exchange;
}
