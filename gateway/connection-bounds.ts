/** Bounds of connections and their streams that no operator has to set. Tests take others. */
export const CONNECTION_BOUNDS = {
  /** Time for the headers of a request, and after them for its body or for a message of a WebSocket. */
  headerMs: 10_000,
  bodyMs: 30_000,
  /** Interval of heartbeats on an idle stream. Clients give up a connection after 45 s of silence. */
  heartbeatMs: 15_000,
  /** Unsent data of a client; beyond it, its generations pause. */
  queueBytes: 256 << 10,
  /** Events that are kept for resuming a generation. */
  historyEvents: 4096,
  /** Concurrent generations of a WebSocket, and its messages, including pings. */
  generations: 8,
  messagesPerSecond: 50,
};

export type ConnectionBounds = Readonly<typeof CONNECTION_BOUNDS>;
