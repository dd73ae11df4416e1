import type { Context } from '@opentelemetry/api';
import type { Verdict } from '../../src/stream/events.js';
import type { OperatorPolicy } from '../policy/operator-policy.js';
import type { Prompt } from '../requests/completion-request.js';
import type { GenerationFields } from '../requests/generation-request.js';
import type { GivenText } from '../requests/given-text.js';
import type { ResponseRequest } from '../requests/response-request.js';

/** Names of an API for the fields of a chat completion: `{ messages: 'prompt' }`. */
export type FieldNames = Readonly<Record<string, string>>;

/** A request as a transport has read it. */
export interface AnswerRequest {
  readonly fields: GenerationFields;
  /** Names of the API for these fields, in errors and warnings. */
  readonly names?: FieldNames | undefined;
  /** Prompt that is continued in place of `messages`, with no chat template around it. */
  readonly prompt?: Prompt;
  /** The request of which this one is the chat, as it came. */
  readonly response?: ResponseRequest;
  /** The answer, which is there already: it is scored, not written. */
  readonly given?: GivenText;
  /** Whether the client can be told that tokens are void; else they are held until they cannot be. */
  readonly canRetract: boolean;
  /** Whether chunks may be passed on as they came if nothing is to be scored. */
  readonly verbatim?: boolean;
  /** Whether the transport keeps all events to the end, such as of an answer that is not streamed. */
  readonly kept?: boolean;
  /** Whether the client gets it as a stream. */
  readonly stream?: boolean;
  /** Whether the client hears of the answer before its first event: a refusal is then a failure in the stream. */
  readonly announced?: boolean;
  /** Name of the key. */
  readonly principal: string;
  /** Client of the request ({@link Principal.client}): running estimates learn from its requests alone. */
  readonly client: string;
  readonly responseId: string;
  /** The trace that it belongs to. */
  readonly trace?: Context;
}

/** A request as it is answered: under the operator's policies, within the operator's bounds. */
export interface Asked extends AnswerRequest {
  /** Policy that has set fields of the guard; `null` without one. */
  readonly policy: OperatorPolicy | null;
  /** Whether the answer ends before its first token without a score. */
  readonly refusesUnscored: boolean;
  /** Maximum tokens of an answer to a request that does not say how many it wants. */
  readonly maxTokens?: number | undefined;
  /**
   * Whether something takes the place of an answer with this verdict: it then ends with its text, before scores that
   * follow. The same for each call.
   */
  readonly isReplaced?: (verdict: Verdict) => boolean;
  /** A further answer to one question, and so no ordinary one: running estimates and the guard's metrics leave it out. */
  readonly further?: boolean;
}
