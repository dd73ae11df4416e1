import { isTransient } from 'flinch-client/protocol';

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

/** What docs/reference/errors.md says of close codes: those of the gateway, of WebSocket itself, and of what is between. */
export const CLOSE_CODE_MEANINGS: readonly {
  readonly codes: readonly number[];
  readonly whose: string;
  readonly meaning: string;
}[] = [
  { codes: [CLOSE_CODES.goingAway], whose: 'server', meaning: 'it shuts down' },
  { codes: [1006], whose: '', meaning: 'the connection was lost, or cut' },
  { codes: [1011, 1012, 1013], whose: 'server, proxies', meaning: 'an error, a restart, overload' },
  { codes: [CLOSE_CODES.slowReader], whose: 'server', meaning: 'the client did not read' },
  { codes: [CLOSE_CODES.noPong], whose: 'server', meaning: 'no answer to pings' },
  { codes: [1000], whose: 'either', meaning: 'done' },
  { codes: [1002], whose: 'server', meaning: "a frame that is not WebSocket's" },
  { codes: [CLOSE_CODES.unsupportedData], whose: 'server', meaning: 'a binary frame' },
  { codes: [1007], whose: 'server', meaning: 'text that is not UTF-8' },
  { codes: [1008], whose: 'server, proxies', meaning: 'not allowed' },
  { codes: [1009], whose: 'server', meaning: 'a message over the limit' },
  { codes: [CLOSE_CODES.tooManyMessages], whose: 'server', meaning: 'too many messages' },
];
