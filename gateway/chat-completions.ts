import { randomUUID } from 'node:crypto';
import type { RequestHandler, Response } from 'express';
import { fromEvent, lastValueFrom, takeUntil, toArray } from 'rxjs';
import { FlowGate } from '../src/stream/flow-gate.js';
import { toApiError } from './errors.js';
import type { Models } from './models.js';
import { Completion } from './openai.js';
import { type ChatRequest, chatSchema, parse } from './request.js';
import type { Prepared } from './served-model.js';
import { SseWriter } from './sse.js';

/** `POST /v1/chat/completions`, streamed or whole. A client that goes away cancels its generation. */
export function chatCompletions(models: Models): RequestHandler {
  return async (req, res) => {
    const request = parse(chatSchema, req.body);
    const prepared = await models.prepare(request, { canRetract: false });
    res.locals.model = prepared.model;
    if (res.closed) return; // a large model's embeddings take their time to be read
    if (request.stream) await stream(res, request, prepared);
    else await whole(res, request, prepared);
  };
}

async function whole(res: Response, request: ChatRequest, prepared: Prepared): Promise<void> {
  const gone = fromEvent(res, 'close');
  const events = await lastValueFrom(prepared.start(new FlowGate()).pipe(takeUntil(gone), toArray()));
  if (res.closed) return;
  res.json(completionOf(request, prepared).whole(events));
}

function completionOf(request: ChatRequest, { model, vocabulary, guard }: Prepared): Completion {
  const id = `chatcmpl-${randomUUID()}`;
  const logprobs = request.logprobs === true;
  const includeUsage = request.stream_options?.include_usage === true;
  return new Completion({ id, model, vocabulary, guard, logprobs, includeUsage });
}

/** Until the first event an error is a plain response; from then on it is an event, and there is no `[DONE]`. */
async function stream(res: Response, request: ChatRequest, prepared: Prepared): Promise<void> {
  const completion = completionOf(request, prepared);
  const gate = new FlowGate();
  const sse = new SseWriter(res, gate);
  await new Promise<void>((resolve, reject) => {
    const subscription = prepared.start(gate).subscribe({
      next: (event) => {
        if (!sse.started) sse.data(completion.opening());
        for (const chunk of completion.chunks(event)) sse.data(chunk);
      },
      error: (error: unknown) => {
        if (!sse.started) return reject(error);
        const apiError = toApiError(error);
        res.locals.error = error;
        sse.data({ error: apiError.body });
        sse.end();
        resolve();
      },
      complete: () => {
        sse.data('[DONE]');
        sse.end();
        resolve();
      },
    });
    res.once('close', () => {
      subscription.unsubscribe();
      resolve();
    });
  });
}
