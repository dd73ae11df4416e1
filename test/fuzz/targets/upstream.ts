import { lastValueFrom, type Observable, tap } from 'rxjs';
import { expect } from 'vitest';
import { CHAT_FORM } from '#gateway/http/choice-form.js';
import { Completion } from '#gateway/http/completion.js';
import { verbatimChunks, wholeVerbatim } from '#gateway/http/verbatim-chunks.js';
import { WholeCompletion } from '#gateway/http/whole-completion.js';
import { jsonText } from '#gateway/requests/exact-numbers.js';
import { logprobBranch } from '#gateway/upstream/logprob-source.js';
import type { AnswerForm } from '#gateway/upstream/servers/dialect.js';
import { StreamedResponse } from '#gateway/upstream/servers/streamed-response.js';
import { chunksOf } from '#gateway/upstream/servers/verbatim.js';
import { UpstreamError } from '#gateway/upstream/upstream-error.js';
import { Messages } from '#gateway/upstream/wire/answer-messages.js';
import { ChunkReader } from '#gateway/upstream/wire/chunk-reader.js';
import { guardedBranch } from '#src/guard/guarded-branch.js';
import { DEFAULT_GUARD, DEFAULT_SCORING, FlowGate, type GuardEvent, RunningRisk } from '#src/index.js';
import { exchangeOf } from '../../support/exchange-of.js';
import { scriptedAnswer } from '../../support/scripted-model.js';
import { parts, type Target } from '../target.js';

const LINE_BYTES = 1 << 16;

/** What it does; an UpstreamError is a fine end of it. */
async function orFault<T>(work: () => T | Promise<T>): Promise<T | string> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error;
    return error.message;
  }
}

/** Messages are the same, however the bytes of a body come, but for lines that are only too long in parts. */
const sse: Target = {
  name: 'sse',
  run: async (input) => {
    const read = (pieces: Iterable<Uint8Array>) => {
      const messages = new Messages(false, LINE_BYTES);
      return orFault(() => [...pieces].flatMap((piece) => messages.push(piece)).concat(messages.end()));
    };
    const [inParts, atOnce] = [await read(parts(input, 7)), await read([input])];
    if (!String(inParts).includes('too long')) expect(inParts).toEqual(atOnce);
  },
};

function responseOf(input: Uint8Array, form: Partial<AnswerForm>) {
  const exchange = exchangeOf(parts(input, 400));
  const { isResponse = false, verbatim = false, whole = false } = form;
  const reader = new ChunkReader(exchange, { isResponse, verbatim, whole }, () => null);
  const options = { lags: false, verbatim, warnings: [], seam: '', failed: () => {} };
  return new StreamedResponse(exchange, reader, options);
}

const { guard: plain } = scriptedAnswer(() => {
  throw new Error('not started');
});
const guard = { ...DEFAULT_GUARD, method: 'nll' as const, delivery: 'held' as const };
const scoring = { ...DEFAULT_SCORING, methods: ['nll' as const, 'margin' as const] };
const request = { messages: [], sampling: {}, stop: [], topLogprobs: 2 };
const named = { id: 'c', model: 'm', form: CHAT_FORM, includeUsage: true };

function scored(input: Uint8Array, isResponse: boolean): Observable<GuardEvent> {
  const answer = responseOf(input, { isResponse });
  const opened = { answer, server: { open: () => Promise.reject(new Error('not asked for')) } };
  const { signal } = new AbortController();
  const options = { request, signal, methods: scoring.methods };
  return guardedBranch(async (judging) => logprobBranch(opened, options, judging), {
    scoring,
    guard,
    risks: new RunningRisk(),
    seed: 1,
  });
}

/** As a client reads it: halves of surrogate pairs are escaped in JSON. */
const inUtf8 = (frame: string): unknown => JSON.parse(Buffer.from(frame).toString());

/** A body is an answer, scored and passed on, streamed and whole, or a fault of the upstream. */
const upstream: Target = {
  name: 'upstream',
  run: async (input) => {
    for (const isResponse of [false, true]) {
      const options = { ...named, vocabulary: null, guard: { ...plain, enabled: true }, logprobs: true };
      const streamed = new Completion({ ...options, comes: 'scored' });
      const whole = new WholeCompletion(options);
      const done = await orFault(() =>
        lastValueFrom(
          scored(input, isResponse).pipe(
            tap((event) => {
              whole.add(event);
              for (const chunk of streamed.chunks(event).map(jsonText))
                expect(inUtf8(chunk)).toEqual(JSON.parse(chunk));
            }),
          ),
        ),
      );
      if (typeof done === 'string') continue;
      expect(done).toMatchObject({ type: 'generation.done', verdict: {} });
      const { choices } = JSON.parse(whole.json().join(''));
      expect(choices[0]).toMatchObject({ index: 0 });
    }
    for (const isWhole of [false, true]) {
      const streamed = verbatimChunks({ ...named, guard: plain }, 'p');
      const whole = wholeVerbatim({ ...named, guard: plain });
      await orFault(() =>
        lastValueFrom(
          chunksOf(responseOf(input, { verbatim: true, whole: isWhole }), new FlowGate()).pipe(
            tap((event) => {
              if (!isWhole) streamed.event(event, 1);
              else for (const json of whole.event(event, 1)) JSON.parse(json);
            }),
          ),
        ),
      );
    }
  },
};

export const UPSTREAM: readonly Target[] = [sse, upstream];
