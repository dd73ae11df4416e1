import { ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { describe, expect, it } from 'vitest';
import type { GenerationNews } from '#gateway/answers/answer-news.js';
import type { Asked } from '#gateway/answers/asked.js';
import { chatSchema } from '#gateway/requests/generation-request.js';
import { GivenText } from '#gateway/requests/given-text.js';
import { traceGenerations } from '#gateway/tracing/generation-span.js';
import { traceHeaders } from '#gateway/tracing/trace-context.js';
import type { StepEvent, Verdict } from '#src/index.js';
import { askedOf } from '../../support/answers.js';
import { doneEvent } from '../../support/events.js';

const SECRET = 'What is the secret?';
const VERDICT: Verdict = {
  flagged: false,
  risk: 0.25,
  rate: 0.05,
  flaggedSteps: 0,
  steps: 3,
  unscoredTokens: 0,
  calibrated: true,
  reason: null,
};
const STEP: StepEvent = {
  type: 'step.done',
  step: 2,
  from: 16,
  to: 32,
  text: 'secret',
  method: 'adversarial',
  score: 12.3456,
  risk: 0.98765,
  calibrated: true,
  flagged: true,
};

/** The span of a generation that all of this became of. */
function spanOf(news: readonly GenerationNews[], how: Partial<Asked> = {}, changes: object = {}) {
  const exporter = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  const messages = [{ role: 'user', content: SECRET }];
  const { trace: own, tell } = traceGenerations(provider.getTracer('test'))({
    model: 'm',
    provider: 'openai',
    asked: askedOf(chatSchema.parse({ model: 'm', messages, ...changes }), {
      responseId: 'chatcmpl-7',
      ...how,
    }),
  });
  for (const each of news) tell(each);
  const [span] = exporter.getFinishedSpans();
  return { own, span: span!, finished: exporter.getFinishedSpans().length };
}

const events = ({ span }: ReturnType<typeof spanOf>) =>
  span.events.map(({ name, attributes }) => ({ name, ...attributes }));
const done = (verdict?: Verdict): GenerationNews => ({
  type: 'done',
  event: { ...doneEvent('stop', 7), ...(verdict && { verdict }) },
});

describe('the span of a generation', () => {
  it('has the names of the conventions, and numbers of the request', () => {
    const { span } = spanOf(
      [{ type: 'first', seconds: 0.5 }, done(VERDICT)],
      { stream: true },
      { temperature: 0.5, top_p: 0.9, max_tokens: 20, seed: 3, n: 2 },
    );
    expect(span.name).toBe('chat m');
    expect(span.kind).toBe(SpanKind.CLIENT);
    expect(span.status.code).toBe(SpanStatusCode.UNSET);
    expect(span.attributes).toEqual({
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'openai',
      'gen_ai.request.model': 'm',
      'gen_ai.request.stream': true,
      'gen_ai.request.max_tokens': 20,
      'gen_ai.request.temperature': 0.5,
      'gen_ai.request.top_p': 0.9,
      'gen_ai.request.seed': 3,
      'gen_ai.request.choice.count': 2,
      'gen_ai.response.id': 'chatcmpl-7',
      'gen_ai.response.model': 'm',
      'gen_ai.response.finish_reasons': ['stop'],
      'gen_ai.response.time_to_first_chunk': 0.5,
      'gen_ai.usage.input_tokens': 1,
      'gen_ai.usage.output_tokens': 7,
      'flinch.verdict': 'passed',
      'flinch.risk': 0.25,
    });
  });

  it('is of a completion where a text is continued', () => {
    expect(spanOf([done()], { prompt: SECRET }).span.name).toBe('text_completion m');
  });

  it('is of an evaluation where a text is given', () => {
    const given = GivenText.whole(SECRET, 100);
    expect(spanOf([done()], { given }).span.name).toBe('evaluate m');
  });

  it('has flagged steps, rollbacks and the verdict as events, and no text', () => {
    const candidates = [STEP, STEP].map(({ text, score }) => ({ text, tokens: 9, score }));
    const event = {
      type: 'rollback.done',
      rollback: 0,
      step: 2,
      outcome: 'kept',
      chosen: 0,
      candidates,
    } as const;
    const spans = spanOf([
      { type: 'flagged', step: STEP, action: 'rollback' },
      { type: 'rollback', event },
      done({ ...VERDICT, flagged: true, risk: 0.99, flaggedSteps: 1, reason: 'stopped' }),
    ]);
    expect(events(spans)).toEqual([
      {
        name: 'gen_ai.evaluation.result',
        'gen_ai.evaluation.name': 'flinch.step',
        'gen_ai.evaluation.score.label': 'flagged',
        'gen_ai.evaluation.score.value': 0.98765,
        'gen_ai.evaluation.explanation': 'tokens 16 to 31: adversarial 12.35, risk 0.9877; rollback',
        'gen_ai.response.id': 'chatcmpl-7',
        'flinch.step.index': 2,
        'flinch.step.from': 16,
        'flinch.step.to': 32,
        'flinch.method': 'adversarial',
        'flinch.score': 12.3456,
        'flinch.calibrated': true,
        'flinch.action': 'rollback',
      },
      {
        name: 'flinch.rollback',
        'flinch.rollback.index': 0,
        'flinch.step.index': 2,
        'flinch.rollback.outcome': 'kept',
        'flinch.rollback.chosen': 0,
        'flinch.rollback.candidates': 2,
      },
      expect.objectContaining({
        'gen_ai.evaluation.name': 'flinch.verdict',
        'gen_ai.evaluation.score.label': 'flagged',
        'gen_ai.evaluation.score.value': 0.99,
        'gen_ai.evaluation.explanation': 'risk 0.99 with rate 0.05; 1 of 3 steps flagged; stopped',
      }),
    ]);
    expect(JSON.stringify([spans.span.attributes, events(spans)])).not.toContain('secret');
  });

  it.each([
    [
      'who was not scored in full',
      done({ ...VERDICT, flagged: null, reason: 'unscored_tokens' }),
      'unscored_tokens',
    ],
    ['without a guard', done(), 'the guard is off'],
    ['that fails', { type: 'failed', code: 'upstream_timeout' }, 'the answer failed'],
    ['that is cancelled', { type: 'cancelled' }, 'the answer was cancelled'],
  ] as const)('says that an answer is unscored %s', (_, news, why) => {
    const spans = spanOf([news]);
    expect(spans.span.attributes['flinch.verdict']).toBe('unscored');
    expect(events(spans)).toEqual([
      expect.objectContaining({
        'gen_ai.evaluation.name': 'flinch.verdict',
        'gen_ai.evaluation.score.label': 'unscored',
        'gen_ai.evaluation.explanation': expect.stringContaining(why),
      }),
    ]);
  });

  it('names the error of one that fails, and of one that is refused, which has no verdict', () => {
    const failed = spanOf([{ type: 'failed', code: 'engine_crashed' }]);
    expect(failed.span.status.code).toBe(SpanStatusCode.ERROR);
    expect(failed.span.attributes['error.type']).toBe('engine_crashed');
    expect(events(failed)[0]).toHaveProperty(['error.type'], 'engine_crashed');
    const refused = spanOf([{ type: 'refused', code: 'overloaded' }]);
    expect(refused.span.attributes['error.type']).toBe('overloaded');
    expect(events(refused)).toEqual([]);
  });

  it('is in the trace of the request, and whoever writes is told its own', () => {
    const parent = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), traceFlags: 1 };
    const { own, span } = spanOf([done()], { trace: trace.setSpanContext(ROOT_CONTEXT, parent) });
    expect(span.parentSpanContext).toEqual(parent);
    expect(traceHeaders(own)).toEqual({
      traceparent: `00-${parent.traceId}-${span.spanContext().spanId}-01`,
    });
  });

  it('is none without an SDK, or where the request is not sampled; the trace goes on', () => {
    const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-00`;
    const parent = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), traceFlags: 0 };
    const context = trace.setSpanContext(ROOT_CONTEXT, parent);
    expect(spanOf([done()], { trace: context }).finished).toBe(0);
    const messages = [{ role: 'user', content: SECRET }];
    const { trace: own, tell } = traceGenerations()({
      model: 'm',
      provider: 'flinch',
      asked: askedOf(chatSchema.parse({ model: 'm', messages }), { trace: context }),
    });
    tell(done());
    expect(traceHeaders(own)).toEqual({ traceparent });
  });
});
