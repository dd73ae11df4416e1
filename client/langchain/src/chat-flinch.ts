import type { CallbackManagerForLLMRun } from '@langchain/core/callbacks/manager';
import { convertChunksToEvents } from '@langchain/core/language_models/compat';
import type { ChatModelStreamEvent } from '@langchain/core/language_models/event';
import { AIMessageChunk, type BaseMessage } from '@langchain/core/messages';
import { ChatGenerationChunk, type ChatResult } from '@langchain/core/outputs';
import { type BaseChatOpenAIFields, ChatOpenAICompletions } from '@langchain/openai';
import type { FlinchMetadata, GuardRequest } from 'flinch-client';
import { CompletionRecord } from 'flinch-client/protocol';
import * as z from 'zod/mini';

/** Options of ChatOpenAI without `streaming`, with which it asks the web how many tokens there are. */
export interface ChatFlinchFields extends Omit<BaseChatOpenAIFields, 'streaming'> {
  /** Address of the gateway. Default: `http://127.0.0.1:8787`. */
  readonly url?: string;
  /** How tokens are scored, and what happens to doubtful steps. */
  readonly guard?: GuardRequest;
}

const metadata = z.custom<FlinchMetadata>((value) => typeof value === 'object' && value !== null);

/**
 * LangChain's chat model for a flinch gateway: `ChatOpenAI` with chat completions, and the results of flinch for an
 * answer in `response_metadata.flinch` ({@link flinchOf}). While the answer is written there are custom events:
 * `flinch.` with the type of an event of the protocol, such as `flinch.step.flagged`; `flinch.score.delta` with a
 * scored token; and `flinch.verdict` at the end. If scoring fails, the call fails.
 *
 * @example
 * const model = new ChatFlinch({ model: 'qwen', guard: { action: 'rollback' } });
 * const message = await model.invoke('What is 12 + 30 - 5?');
 * if (flinchOf(message)?.verdict.flagged !== false) console.log('to be checked:', message.text);
 */
export class ChatFlinch extends ChatOpenAICompletions {
  static override lc_name(): string {
    return 'ChatFlinch';
  }

  constructor({ url = 'http://127.0.0.1:8787', guard, ...fields }: ChatFlinchFields) {
    super({
      apiKey: process.env.FLINCH_API_KEY ?? 'none',
      ...fields,
      configuration: { baseURL: `${url.replace(/\/+$/, '')}/v1`, ...fields.configuration },
      modelKwargs: { ...fields.modelKwargs, ...(guard && { guard }) },
      // Taken out of the messages again.
      __includeRawResponse: true,
    });
  }

  /** @internal */
  override async _generate(
    messages: BaseMessage[],
    options: this['ParsedCallOptions'],
    runManager?: CallbackManagerForLLMRun,
  ): Promise<ChatResult> {
    const result = await super._generate(messages, options, runManager);
    for (const { message } of result.generations) {
      const record = new CompletionRecord();
      record.addWhole(takeRaw(message));
      const { metadata: flinch } = record;
      message.response_metadata = { ...message.response_metadata, flinch };
      for (const step of flinch.flagged) await tell(runManager, step.type, step);
      await tell(runManager, 'verdict', flinch.verdict);
    }
    return result;
  }

  /** @internal */
  override async *_streamResponseChunks(
    messages: BaseMessage[],
    options: this['ParsedCallOptions'],
    runManager?: CallbackManagerForLLMRun,
  ): AsyncGenerator<ChatGenerationChunk> {
    const record = new CompletionRecord();
    for await (const generation of super._streamResponseChunks(messages, options, runManager)) {
      const { tokens, events } = record.addChunk(takeRaw(generation.message));
      yield generation;
      for (const token of tokens) if (token.scores) await tell(runManager, 'score.delta', token);
      for (const event of events) await tell(runManager, event.type, event);
    }
    // The metadata gets a chunk of its own: LangChain joins the strings of metadata that come twice.
    const { metadata: flinch } = record;
    await tell(runManager, 'verdict', flinch.verdict);
    const last = new AIMessageChunk({ content: '', response_metadata: { flinch } });
    yield new ChatGenerationChunk({ message: last, text: '' });
  }

  /** @internal */
  override async *_streamChatModelEvents(
    messages: BaseMessage[],
    options: this['ParsedCallOptions'],
    runManager?: CallbackManagerForLLMRun,
  ): AsyncGenerator<ChatModelStreamEvent> {
    let flinch: FlinchMetadata | null = null;
    const chunks = this._streamResponseChunks(messages, options, runManager);
    const heard = async function* (): AsyncGenerator<ChatGenerationChunk> {
      for await (const generation of chunks) {
        flinch = flinchOf(generation.message) ?? flinch;
        yield generation;
      }
    };
    const { signal } = options;
    for await (const event of convertChunksToEvents(heard(), signal ? { signal } : {})) {
      if (event.event !== 'message-finish') yield event;
      else yield { ...event, responseMetadata: { ...event.responseMetadata, flinch } };
    }
  }
}

/**
 * Results of flinch for an answer; `undefined` for a message of another model, and for the parts of a stream before
 * its end. If the answer was not judged, `verdict.flagged` is `null` and `verdict.reason` says why.
 */
export function flinchOf({
  response_metadata,
}: Pick<BaseMessage, 'response_metadata'>): FlinchMetadata | undefined {
  return z.safeParse(metadata, response_metadata.flinch).data;
}

function takeRaw({ additional_kwargs }: BaseMessage): unknown {
  const { __raw_response: raw } = additional_kwargs;
  delete additional_kwargs.__raw_response;
  return raw;
}

const tell = async (
  runManager: CallbackManagerForLLMRun | undefined,
  type: string,
  data: unknown,
): Promise<void> => runManager?.handleCustomEvent(`flinch.${type}`, data);
