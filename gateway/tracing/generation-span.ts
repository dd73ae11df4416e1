import {
  type Attributes,
  type Context,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { packageVersion } from '../../src/package-root.js';
import type { DoneEvent } from '../../src/stream/events.js';
import type { GenerationAbout, GenerationNews, Listen } from '../answers/answer-news.js';
import type { Asked } from '../answers/asked.js';
import type { ErrorCode } from '../errors/codes.js';
import { flaggedStep, rollback, type VerdictResult, verdict } from './evaluations.js';

/**
 * A span for each generation, with what was found in it as events, as OpenTelemetry's semantic conventions for
 * generative AI have it (open-telemetry/semantic-conventions-genai, docs/gen-ai). Without an SDK it does nothing but
 * pass the trace on. No text of prompts and answers is in it.
 */
export function traceGenerations(tracer: Tracer = trace.getTracer('flinch', packageVersion())): Listen {
  return (about) => {
    const { trace: parent = ROOT_CONTEXT } = about.asked;
    const span = startSpan(tracer, about, parent);
    const tell = span.isRecording() ? reportTo(span, about) : () => {};
    return { trace: trace.setSpan(parent, span), tell };
  };
}

function startSpan(tracer: Tracer, about: GenerationAbout, parent: Context): Span {
  const { model, provider, asked } = about;
  const operation = operationOf(asked);
  const kind = provider === 'flinch' ? SpanKind.INTERNAL : SpanKind.CLIENT;
  const attributes = {
    'gen_ai.operation.name': operation,
    'gen_ai.provider.name': provider,
    'gen_ai.request.model': model,
    'gen_ai.response.id': asked.responseId,
    ...requestAttributes(asked),
  };
  return tracer.startSpan(`${operation} ${model}`, { kind, attributes }, parent);
}

/** Name of the operation: the conventions have none for scoring a given text. */
const operationOf = ({ given, prompt }: Asked): string =>
  given ? 'evaluate' : prompt === undefined ? 'chat' : 'text_completion';

function requestAttributes({ fields, stream }: Asked): Attributes {
  const { temperature, top_p, top_k, seed, n } = fields;
  const given: Readonly<Record<string, unknown>> = {
    'gen_ai.request.stream': stream || undefined,
    'gen_ai.request.max_tokens': fields.max_completion_tokens ?? fields.max_tokens,
    'gen_ai.request.temperature': temperature,
    'gen_ai.request.top_p': top_p,
    'gen_ai.request.top_k': top_k,
    'gen_ai.request.seed': seed,
    'gen_ai.request.choice.count': n === 1 ? undefined : n,
  };
  // An upstream gets the request as it came, so that values may have other types.
  return Object.fromEntries(
    Object.entries(given).flatMap(([name, value]) =>
      typeof value === 'number' || typeof value === 'boolean' ? [[name, value]] : [],
    ),
  );
}

/** Every span of an answer that has begun has one verdict: `unscored` if there is no score to judge by. */
function reportTo(span: Span, { model, asked }: GenerationAbout): (news: GenerationNews) => void {
  const about = { 'gen_ai.response.id': asked.responseId };
  const evaluate = (result: VerdictResult): void => {
    // Attributes repeat the result, for tools that filter by attributes and do not keep events.
    const risk = result['gen_ai.evaluation.score.value'];
    span.setAttribute('flinch.verdict', result['gen_ai.evaluation.score.label']);
    if (risk !== undefined) span.setAttribute('flinch.risk', risk);
    span.addEvent('gen_ai.evaluation.result', { ...result, ...about });
  };
  const fail = (code: ErrorCode): void => {
    span.setAttribute('error.type', code);
    span.setStatus({ code: SpanStatusCode.ERROR });
  };
  return (news) => {
    switch (news.type) {
      case 'first':
        span.setAttribute('gen_ai.response.time_to_first_chunk', news.seconds);
        return;
      case 'flagged':
        span.addEvent('gen_ai.evaluation.result', { ...flaggedStep(news), ...about });
        return;
      case 'rollback':
        span.addEvent('flinch.rollback', rollback(news.event));
        return;
      case 'done':
        span.setAttributes({ 'gen_ai.response.model': model, ...doneAttributes(news.event) });
        evaluate(verdict(news.event.verdict ?? null, 'the guard is off'));
        break;
      case 'failed':
        fail(news.code);
        evaluate({ ...verdict(null, 'the answer failed'), 'error.type': news.code });
        break;
      case 'refused':
        fail(news.code);
        break;
      case 'cancelled':
        evaluate(verdict(null, 'the answer was cancelled'));
    }
    span.end();
  };
}

const doneAttributes = ({ finishReason, usage }: DoneEvent): Attributes => ({
  'gen_ai.response.finish_reasons': [finishReason],
  ...(usage.promptTokens !== null && { 'gen_ai.usage.input_tokens': usage.promptTokens }),
  ...(usage.completionTokens !== null && { 'gen_ai.usage.output_tokens': usage.completionTokens }),
  ...(usage.cachedTokens !== undefined && { 'gen_ai.usage.cache_read.input_tokens': usage.cachedTokens }),
});
