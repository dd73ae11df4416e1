import type { FlinchMetadata, GuardRequest } from 'flinch-client';
import { CompletionRecord } from 'flinch-client/protocol';
import { type FlinchDataPart, stepParts, verdictPart } from './data-parts.js';
import { lacksGuard, notSent, withGuard } from './guard-option.js';

/** The fields that are read of the AI SDK's types, which differ between its versions in others alone. */
interface CallOptions {
  includeRawChunks?: boolean | undefined;
  providerOptions?: Record<string, Record<string, unknown>> | undefined;
}
interface Result {
  providerMetadata?: Record<string, Record<string, unknown>> | undefined;
}
interface Sent {
  request?: { body?: unknown } | undefined;
}
interface GenerateResult extends Result, Sent {
  response?: { body?: unknown } | undefined;
}
interface StreamPart extends Result {
  type: string;
  rawValue?: unknown;
}
interface StreamResult extends Sent {
  stream: ReadableStream<StreamPart>;
}
interface Model {
  readonly provider: string;
}

/** A middleware of language models of AI SDK 6 (`LanguageModelV3Middleware`) and 7 (`LanguageModelV4Middleware`). */
export interface FlinchMiddleware {
  /** AI SDK 7 takes middleware of either version. */
  readonly specificationVersion: 'v3';
  transformParams<Params extends CallOptions>(options: { params: Params; model: Model }): Promise<Params>;
  wrapGenerate<Generated extends GenerateResult>(options: {
    doGenerate: () => PromiseLike<Generated>;
    model: Model;
  }): Promise<Generated>;
  wrapStream<Params extends CallOptions, Streamed extends StreamResult>(options: {
    params: Params;
    model: Model & { doStream(params: Params): PromiseLike<Streamed> };
  }): Promise<Streamed>;
}

export interface FlinchMiddlewareOptions {
  /** Guard: how the gateway scores, and its action at doubtful steps. Sent with requests that have no `guard`. */
  readonly guard?: GuardRequest;
  /** Called with each settled step while the answer is written, and with the verdict at its end. */
  readonly onData?: (part: FlinchDataPart) => void;
}

/**
 * Reads a flinch gateway's metadata of an answer, from any provider that speaks OpenAI's chat completions.
 * It is put into `providerMetadata.flinch`, which {@link flinchMetadata} reads. The parts of a stream stay as they are.
 *
 * @example
 * const gateway = createOpenAICompatible({ name: 'gateway', baseURL: 'http://127.0.0.1:8787/v1' });
 * const middleware = flinchMiddleware({ guard: { action: 'rollback' } });
 * const { text } = await generateText({ model: wrapLanguageModel({ model: gateway('reasoner'), middleware }), prompt });
 */
export function flinchMiddleware({ guard, onData }: FlinchMiddlewareOptions = {}): FlinchMiddleware {
  const tell = (parts: readonly FlinchDataPart[]): void => {
    for (const part of parts) onData?.(part);
  };
  const unguarded = ({ request }: Sent): boolean => guard !== undefined && lacksGuard(request?.body);
  return {
    specificationVersion: 'v3',
    transformParams: async ({ params, model: { provider } }) =>
      guard ? { ...params, providerOptions: withGuard(params.providerOptions, provider, guard) } : params,
    wrapGenerate: async ({ doGenerate, model: { provider } }) => {
      const result = await doGenerate();
      if (unguarded(result)) throw notSent(provider);
      const answer = crypto.randomUUID();
      const record = new CompletionRecord();
      record.addWhole(result.response?.body);
      const { metadata } = record;
      tell(stepParts(answer, [...metadata.steps, ...metadata.flagged], metadata));
      tell([verdictPart(answer, metadata.verdict)]);
      return withMetadata(result, metadata);
    },
    wrapStream: async ({ params, model }) => {
      const result = await model.doStream({ ...params, includeRawChunks: true });
      if (unguarded(result)) {
        await result.stream.cancel();
        throw notSent(model.provider);
      }
      return {
        ...result,
        stream: result.stream.pipeThrough(reading(params.includeRawChunks === true, tell)),
      };
    },
  };
}

/** @param passRaw whether the caller reads the raw chunks, too */
function reading(
  passRaw: boolean,
  tell: (parts: readonly FlinchDataPart[]) => void,
): TransformStream<StreamPart, StreamPart> {
  const answer = crypto.randomUUID();
  const record = new CompletionRecord();
  let finished = false;
  const finish = (): void => {
    if (!finished) tell([verdictPart(answer, record.metadata.verdict)]);
    finished = true;
  };
  return new TransformStream({
    transform(part, controller) {
      if (part.type === 'raw') {
        const { events } = record.addChunk(part.rawValue);
        tell(stepParts(answer, events, record.metadata));
      }
      if (part.type === 'finish') finish();
      if (part.type !== 'raw' || passRaw)
        controller.enqueue(part.type === 'finish' ? withMetadata(part, record.metadata) : part);
    },
    // A stream that fails may end without its last part.
    flush: finish,
  });
}

const withMetadata = <T extends Result>(result: T, metadata: FlinchMetadata): T => ({
  ...result,
  providerMetadata: {
    ...result.providerMetadata,
    flinch: { ...result.providerMetadata?.flinch, ...metadata },
  },
});
