/** The codes with which the gateway closes a WebSocket, as PROTOCOL.md lists them. */
export const CLOSE_CODES = {
  goingAway: 1001,
  unsupportedData: 1003,
  slowReader: 4000,
  noPong: 4001,
  tooManyMessages: 4500,
} as const;

export type CloseCode = (typeof CLOSE_CODES)[keyof typeof CLOSE_CODES];

/**
 * Whether the end of a connection is that of its generations, too: it was meant (1005 is a close without a code, as of
 * `socket.close()` in a page), or the client is not to come back.
 */
export function cancelsGenerations(code: number): boolean {
  return MEANT.has(code) || (code >= 4500 && code < 5000);
}

/** Normal, going away, protocol error, unsupported data, no code, bad data, policy, too large, missing extension. */
const MEANT: ReadonlySet<number> = new Set([1000, 1001, 1002, 1003, 1005, 1007, 1008, 1009, 1010]);
