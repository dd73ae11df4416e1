/** The client is done: the server cancels all generations, also resumable ones. */
export const NORMAL_CLOSURE = 1000;
/**
 * Nothing came for too long: generations are to be resumed on the next connection. Browsers can send 1000 and 3000 to
 * 4999 only.
 */
export const SILENT_CONNECTION = 4900;
/** The client goes, and generations stay: another client resumes them. */
export const DETACHED = 4901;

/**
 * Whether to come back after a close code (gateway/PROTOCOL.md). The others say that the next try would end like this
 * one.
 */
export const isTransient = (code: number): boolean =>
  [1001, 1005, 1006, 1011, 1012, 1013].includes(code) || (code >= 4000 && code <= 4499);
