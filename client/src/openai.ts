import type { GenerationRequest } from './client-request.js';
import type { ChunkFlinch, WholeFlinch } from './flinch-metadata.js';

/**
 * `flinch-client/openai`: what flinch adds to the types of the package `openai` (5 or 6). It has nothing at runtime.
 *
 * @example
 * import OpenAI from 'openai';
 * import 'flinch-client/openai';
 *
 * const guard = { action: 'rollback' } as const;
 * const completion = await client.chat.completions.create({ model: 'reasoner', messages, guard });
 * console.log(completion.flinch?.verdict?.flagged);
 */
export type { ChatCompletion, ChatCompletionChunk } from 'openai/resources/chat/completions/completions';
export type { Completion } from 'openai/resources/completions';
export type { Response } from 'openai/resources/responses/responses';

/** Fields of requests that OpenAI's API does not have. */
export interface FlinchFields extends Pick<GenerationRequest, 'guard' | 'clamp' | 'resumable'> {}

declare module 'openai/resources/chat/completions/completions' {
  interface ChatCompletionCreateParamsBase extends FlinchFields {}
  interface ChatCompletionChunk {
    flinch?: ChunkFlinch;
  }
  interface ChatCompletion {
    flinch?: WholeFlinch;
  }
}

declare module 'openai/resources/completions' {
  interface CompletionCreateParamsBase extends FlinchFields {}
  /** A whole completion, and a chunk of a stream. */
  interface Completion {
    flinch?: WholeFlinch | ChunkFlinch;
  }
}

declare module 'openai/resources/responses/responses' {
  interface ResponseCreateParamsBase extends Omit<FlinchFields, 'clamp'> {}
  interface ResponseTextDeltaEvent {
    flinch?: ChunkFlinch;
  }
  interface Response {
    flinch?: WholeFlinch;
  }
}
