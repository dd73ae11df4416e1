import type { Logger } from 'pino';
import type { SharedState } from '../access/access.js';
import type { KeyUsage } from '../access/usage.js';
import type { Config } from '../config/gateway-config.js';
import type { Elsewhere } from '../generations/elsewhere.js';
import type { LiveGenerations } from '../generations/live-generations.js';

/** Why a command failed: no answer in time, no connection, or an error as answer (`OOM`, `READONLY`, `NOPERM`). */
export const COMMAND_FAILURES = ['timeout', 'connection', 'refused'] as const;
export type CommandFailure = (typeof COMMAND_FAILURES)[number];

export interface StateOptions {
  readonly logger: Logger;
  /** Called for each command: with its time, or `null` if it was not sent. */
  readonly observe: (seconds: number | null, failure: CommandFailure | null) => void;
  /** How long a generation can be resumed, and how many of its events are kept for that. */
  readonly resumeMs: number;
  readonly historyEvents: number;
  /** Clock, in milliseconds. */
  readonly now: () => number;
  /** Usage of this gateway alone. */
  readonly usage: KeyUsage;
}

/** Generations of all gateways that share a state. */
export interface SharedGenerations extends Elsewhere {
  /** Lets other gateways reach these generations from now on. */
  serve(live: LiveGenerations): void;
}

/** State that gateways share. */
export interface State extends SharedState {
  readonly generations: SharedGenerations;
  /** Whether Redis answers. */
  readonly up: boolean;
  /** Whether the gateway can take on work as it is configured: not before Redis was reached once. */
  readonly ready: boolean;
  close(): Promise<void>;
}

/** Connects to the Redis of a configuration; it need not be there yet. */
export type OpenState = (config: NonNullable<Config['state']>, options: StateOptions) => State;
