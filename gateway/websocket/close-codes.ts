import { isTransient } from 'flinch-client/protocol';

/** The codes with which the gateway closes a WebSocket, as PROTOCOL.md lists them. */
export const CLOSE_CODES = {
  goingAway: 1001,
  unsupportedData: 1003,
  unfinished: 1008,
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

/** The meaning of close codes in docs/reference/errors.md: those of the gateway, of WebSocket and of proxies. */
export const CLOSE_CODE_MEANINGS: readonly {
  readonly codes: readonly number[];
  readonly whose: string;
  readonly meaning: string;
}[] = [
  { codes: [CLOSE_CODES.goingAway], whose: 'server', meaning: 'shutdown' },
  { codes: [1006], whose: '', meaning: 'connection lost' },
  { codes: [1011, 1012, 1013], whose: 'server, proxies', meaning: 'error, restart or overload' },
  { codes: [CLOSE_CODES.slowReader], whose: 'server', meaning: 'the client stopped reading' },
  { codes: [CLOSE_CODES.noPong], whose: 'server', meaning: 'no response to pings' },
  { codes: [1000], whose: 'either', meaning: 'done' },
  { codes: [1002], whose: 'server', meaning: 'protocol error in a frame' },
  { codes: [CLOSE_CODES.unsupportedData], whose: 'server', meaning: 'binary frame' },
  { codes: [1007], whose: 'server', meaning: 'invalid UTF-8' },
  {
    codes: [CLOSE_CODES.unfinished],
    whose: 'server, proxies',
    meaning: 'not allowed; a message that takes too long to arrive',
  },
  { codes: [1009], whose: 'server', meaning: 'message too large' },
  {
    codes: [CLOSE_CODES.tooManyMessages],
    whose: 'server',
    meaning: 'too many messages, or too many bytes of refused ones',
  },
];
