import type { Context } from '@opentelemetry/api';
import type {
  ActionName,
  DoneEvent,
  FlaggedEvent,
  RollbackDoneEvent,
  StepEvent,
} from '../../src/stream/events.js';
import type { ErrorCode } from '../errors/codes.js';
import type { Asked } from './asked.js';
import type { Provider } from './served-model.js';

/** A generation that is asked for. */
export interface GenerationAbout {
  readonly model: string;
  readonly provider: Provider;
  readonly asked: Asked;
}

/** Progress of a generation. The last news is one of `done`, `failed`, `refused` and `cancelled`. */
export type GenerationNews =
  /** The first token, or something else, went out. */
  | { readonly type: 'first'; readonly seconds: number }
  | { readonly type: 'flagged'; readonly step: StepEvent | FlaggedEvent; readonly action: ActionName }
  | { readonly type: 'rollback'; readonly event: RollbackDoneEvent }
  | { readonly type: 'done'; readonly event: DoneEvent }
  | { readonly type: 'failed'; readonly code: ErrorCode }
  /** The request was refused before it had begun. */
  | { readonly type: 'refused'; readonly code: ErrorCode }
  | { readonly type: 'cancelled' };

/** Listener for one generation; it is not called for tokens, so that it costs nothing for each. */
export interface GenerationListener {
  /** The trace for the writer, if the listener has a span in it. */
  readonly trace?: Context | undefined;
  readonly tell: (news: GenerationNews) => void;
}

export type Listen = (about: GenerationAbout) => GenerationListener;
