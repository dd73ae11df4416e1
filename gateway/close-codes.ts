import { isTransient } from '../src/client/close-codes.js';

/** The codes with which the gateway closes a WebSocket, as PROTOCOL.md lists them. */
export const CLOSE_CODES = {
  goingAway: 1001,
  unsupportedData: 1003,
  slowReader: 4000,
  noPong: 4001,
  tooManyMessages: 4500,
} as const;

export type CloseCode = (typeof CLOSE_CODES)[keyof typeof CLOSE_CODES];

/** Whether a client is not to come back after the gateway has closed with this code. */
export const isFinal = (code: number): boolean => !isTransient(code);

/**
 * Whether a client that closes with this code is done with its generations: normal, going away (a page that is left),
 * or none, as of `socket.close()` in a page.
 */
export const isMeant = (code: number): boolean => code === 1000 || code === 1001 || code === 1005;
