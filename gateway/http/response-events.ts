import { randomUUID } from 'node:crypto';
import type { DoneEvent, GuardEvent, UpstreamEvent } from '../../src/stream/events.js';
import { usageFields } from '../../src/stream/wire.js';
import type { ApiError } from '../errors/api-error.js';
import { LOGPROBS, type ResponseRequest } from '../requests/response-request.js';
import { UpstreamError } from '../upstream/upstream-error.js';
import { asObject, type Json, listOf, MAX_ENTRIES } from '../upstream/wire/wire-json.js';
import { RESPONSE_FORM } from './choice-form.js';
import { Completion, type CompletionChunk } from './completion.js';
import type { Answered } from './said-guard.js';
import { WholeCompletion } from './whole-completion.js';
import { jsonParts, WrittenJson, written } from './written-json.js';

/** Parts of it may be written JSON. */
export type ResponseEvent = Json & { readonly type: string };

/** Position of the text that is being written. */
interface Position {
  readonly item_id: unknown;
  readonly output_index: unknown;
  readonly content_index: unknown;
}

/** Lists in the field `flinch` of a chunk. */
const NEWS = ['tokens', 'events', 'escalations', 'votes'] as const;

const noNews = (): Record<(typeof NEWS)[number], WrittenJson[]> => ({
  tokens: [],
  events: [],
  escalations: [],
  votes: [],
});

const ENDS: ReadonlySet<unknown> = new Set(['response.completed', 'response.incomplete']);

/**
 * One response in the events of OpenAI's API. An upstream's come back as they came, each in its place after the text
 * that it follows; of a model that has none the same events are made here. What flinch knows of tokens stands beside
 * the deltas of the text, all of it in the last response.
 */
export class ResponseEvents {
  readonly #answer: Answered;
  readonly #completion: Completion;
  /** `null` without log-probabilities. */
  readonly #topLogprobs: number | null;
  readonly #whole: WholeCompletion;
  #started = false;
  #isTextDone = false;
  #sequence = 0;
  /** Response as in the last event. */
  #response: Json;
  #position: Position | null = null;
  /** Text of the part that is being written. */
  #text = '';
  #logprobs: WrittenJson[] = [];
  /** Items that are done. */
  readonly #output: WrittenJson[] = [];
  /** Events of an upstream that follow a text that is not complete. */
  #waiting: Json[] = [];
  /** Lists of news that came before the text, or after it ended. */
  #late = noNews();

  constructor(id: string, request: ResponseRequest, answer: Answered) {
    const { model, vocabulary, guard, form: comes } = answer;
    this.#answer = answer;
    const logprobs = request.include?.includes(LOGPROBS) === true;
    this.#topLogprobs = logprobs ? (request.top_logprobs ?? 0) : null;
    const options = { id, model, vocabulary, guard, form: RESPONSE_FORM };
    this.#completion = new Completion({ ...options, logprobs, comes, includeUsage: false });
    // Nothing of it is needed but what flinch knows.
    this.#whole = new WholeCompletion({ ...options, logprobs: false });
    this.#response = openingResponse(id, request, answer);
  }

  /** The whole response, as the last event has it. Parts of it may be written JSON. */
  get response(): Json {
    return this.#response;
  }

  push(event: GuardEvent): ResponseEvent[] {
    // It comes before all others, which are an upstream's own where that answers: it goes with the first of them.
    if (event.type === 'generation.escalated' || event.type === 'generation.voted') {
      this.#whole.add(event);
      return this.#completion.chunks(event).flatMap((chunk) => this.#delta(chunk));
    }
    const first = !this.#started;
    this.#started = true;
    if (event.type === 'upstream.delta') return this.#raw(event, first);
    this.#whole.add(event);
    const started = first ? this.#begin() : [];
    if (event.type === 'text.done') {
      this.#isTextDone = true;
      return [...started, ...this.#closeMessage(statusOf(event))];
    }
    // Scores that follow the text are in the last response.
    if (this.#isTextDone && event.type !== 'generation.done') return [];
    const chunks = this.#completion.chunks(event);
    if (event.type !== 'generation.done')
      return [...started, ...chunks.flatMap((chunk) => this.#delta(chunk))];
    // The last chunk has the verdict, which is in the response.
    const deltas = chunks.slice(0, -1).flatMap((chunk) => this.#delta(chunk));
    return [...started, ...deltas, ...this.#end(event)];
  }

  /** A response that fails when it has begun. */
  fail({ body }: ApiError): ResponseEvent[] {
    const { code, message, param } = body;
    const error = { code: 'server_error', message };
    return [
      this.#next({ type: 'error', code, message, param }),
      this.#closing({ type: 'response.failed' }, { status: 'failed', error }),
    ];
  }

  #begin(): ResponseEvent[] {
    const item_id = `msg_${randomUUID()}`;
    this.#position = { item_id, output_index: 0, content_index: 0 };
    return [
      this.#next({ type: 'response.created', response: this.#response, ...this.#takeLate() }),
      this.#next({ type: 'response.in_progress', response: this.#response }),
      this.#next({
        type: 'response.output_item.added',
        output_index: 0,
        item: { ...MESSAGE, id: item_id, status: 'in_progress', content: [] },
      }),
      this.#next({ type: 'response.content_part.added', ...this.#position, part: textPart('', []) }),
    ];
  }

  #delta({ choices, flinch = { tokens: [] } }: CompletionChunk): ResponseEvent[] {
    const [choice] = choices;
    const delta = String(choice?.delta ?? '');
    const logprobs = listOf(asObject(choice?.logprobs)?.content);
    if (!this.#position) {
      for (const name of NEWS) for (const each of flinch[name] ?? []) this.#late[name].push(written(each));
      return [];
    }
    this.#text += delta;
    for (const each of logprobs) this.#logprobs.push(written(each));
    const type = 'response.output_text.delta';
    return [this.#next({ type, ...this.#position, delta, logprobs, flinch }), ...this.#takeWaiting()];
  }

  /** An event of an upstream. Until all of its text is there, such as of tokens that are held back, it waits. */
  #raw(event: UpstreamEvent, first: boolean): ResponseEvent[] {
    // The completion is told of what is unscored alone.
    const known: UpstreamEvent = { ...event, chunk: { choices: [] } };
    this.#whole.add(known);
    const before = this.#completion.chunks(known).flatMap((chunk) => this.#delta(chunk));
    // An upstream that is flinch has its own `flinch`, which ours takes the place of.
    const { flinch: _, ...given } = asObject(event.chunk.event) ?? {};
    if (given.type === undefined) return before;
    const raw = this.#answer.form === 'chunks' ? given : withLogprobs(given, this.#topLogprobs);
    if (first) this.#response = this.#named(asObject(raw.response) ?? this.#response);
    this.#waiting.push(raw);
    if (this.#waiting.length > MAX_ENTRIES) throw tooManyWaiting();
    return [...before, ...this.#takeWaiting()];
  }

  #takeWaiting(all = false): ResponseEvent[] {
    const events: ResponseEvent[] = [];
    for (let raw = this.#waiting[0]; raw; raw = this.#waiting[0]) {
      const text = raw.type === 'response.output_text.done' ? String(raw.text ?? '') : '';
      const waits = this.#text.length < text.length;
      // The last one has the verdict.
      if (!all && (waits || ENDS.has(raw.type))) break;
      this.#waiting.shift();
      events.push(this.#pass(raw));
    }
    return events;
  }

  #pass(raw: Json): ResponseEvent {
    const { type, response, item, item_id, output_index, content_index } = raw;
    if (type === 'response.content_part.added') {
      const written = asObject(raw.part)?.type === 'output_text';
      this.#position = written ? { item_id, output_index, content_index } : null;
      this.#text = '';
      this.#logprobs = [];
    }
    // The answer is not scored, and its events are passed on.
    if (type === 'response.output_text.delta') this.#text += String(raw.delta);
    if (type === 'response.output_text.done') this.#position = null;
    if (type === 'response.output_item.done') this.#output.push(written(item));
    const named = asObject(response);
    if (named) this.#response = this.#named(named);
    return this.#next({
      ...raw,
      type: String(type),
      ...(named && { response: this.#response }),
      ...this.#takeLate(),
    });
  }

  #takeLate(): Json {
    const late = Object.entries(this.#late).filter(([, list]) => list.length > 0);
    if (late.length === 0) return {};
    this.#late = noNews();
    return { flinch: { tokens: [], ...Object.fromEntries(late) } };
  }

  #end(done: DoneEvent): ResponseEvent[] {
    const last = this.#waiting.at(-1);
    const whole = asObject(last?.response);
    if (last && whole && ENDS.has(last.type)) {
      this.#waiting.pop();
      const events = this.#takeWaiting(true);
      return [...events, this.#closing({ ...last, type: String(last.type) }, this.#named(whole))];
    }
    this.#waiting = [];
    const reason = INCOMPLETE[done.finishReason];
    const status = statusOf(done);
    const usage = responseUsage(done);
    const events = this.#closeMessage(status);
    return [
      ...events,
      this.#closing(
        { type: reason ? 'response.incomplete' : 'response.completed' },
        {
          status,
          incomplete_details: reason ? { reason } : null,
          usage,
          output: this.#output,
        },
      ),
    ];
  }

  /** The message that is being written, if one is. */
  #closeMessage(status: string): ResponseEvent[] {
    const position = this.#position;
    if (!position) return [];
    this.#position = null;
    const part = textPart(this.#text, this.#logprobs);
    const item = { ...MESSAGE, id: position.item_id, status, content: [part] };
    this.#output.push(new WrittenJson(jsonParts(item)));
    const { text, logprobs } = part;
    return [
      this.#next({ type: 'response.output_text.done', ...position, text, logprobs }),
      this.#next({ type: 'response.content_part.done', ...position, part }),
      this.#next({ type: 'response.output_item.done', output_index: position.output_index, item }),
    ];
  }

  #closing(event: ResponseEvent, fields: Json): ResponseEvent {
    this.#response = { ...this.#response, ...fields, flinch: this.#whole.flinch() };
    return this.#next({ ...event, response: this.#response });
  }

  /** Response with the model's name here. Its id stays: the upstream may store it by that. */
  #named(response: Json): Json {
    const { model, guard, form } = this.#answer;
    const hasTopLogprobs = form !== 'chunks' && Object.hasOwn(response, 'top_logprobs');
    return {
      ...response,
      model,
      flinch: { guard, tokens: [] },
      ...(hasTopLogprobs && { top_logprobs: this.#topLogprobs ?? 0 }),
    };
  }

  #next(event: ResponseEvent): ResponseEvent {
    const numbered = { ...event, sequence_number: this.#sequence };
    this.#sequence += 1;
    return numbered;
  }
}

/** Event with the log-probabilities that the client asked for: the scores may need more. */
function withLogprobs(event: Json, top: number | null): Json {
  const entries = Object.entries(event).map(([name, value]) => [name, ofTexts(value, top)]);
  const fields: Json = Object.fromEntries(entries);
  const ofText = typeof event.type === 'string' && /^(response\.)?output_text/.test(event.type);
  if (!ofText || !Array.isArray(event.logprobs)) return fields;
  const logprobs = top === null ? [] : event.logprobs.map((entry) => withTop(entry, top));
  return { ...fields, logprobs };
}

function ofTexts(value: unknown, top: number | null): unknown {
  if (Array.isArray(value)) return value.map((each) => ofTexts(each, top));
  const object = asObject(value);
  return object ? withLogprobs(object, top) : value;
}

function withTop(value: unknown, top: number): unknown {
  const entry = asObject(value);
  return entry ? { ...entry, top_logprobs: listOf(entry.top_logprobs).slice(0, top) } : value;
}

const tooManyWaiting = () =>
  new UpstreamError(
    'upstream_error',
    `the upstream sent more than ${MAX_ENTRIES} events after a text whose end did not come`,
  );

const MESSAGE = { type: 'message', role: 'assistant' } as const;

const textPart = (text: string, logprobs: readonly unknown[]) => ({
  type: 'output_text',
  annotations: [],
  logprobs,
  text,
});

/** Why a response is incomplete. */
const INCOMPLETE: Readonly<Record<string, string>> = {
  length: 'max_output_tokens',
  content_filter: 'content_filter',
};

const statusOf = ({ finishReason }: Pick<DoneEvent, 'finishReason'>): string =>
  INCOMPLETE[finishReason] ? 'incomplete' : 'completed';

function openingResponse(id: string, request: ResponseRequest, { model, guard }: Answered): Json {
  const { instructions, max_output_tokens, metadata, temperature, top_p, top_logprobs } = request;
  return {
    id,
    object: 'response',
    created_at: Math.floor(Date.now() / 1000),
    status: 'in_progress',
    background: false,
    error: null,
    incomplete_details: null,
    instructions: instructions ?? null,
    max_output_tokens: max_output_tokens ?? null,
    metadata: metadata ?? {},
    model,
    output: [],
    parallel_tool_calls: request.parallel_tool_calls ?? true,
    previous_response_id: null,
    reasoning: { effort: null, summary: null },
    store: false,
    temperature: temperature ?? null,
    text: { format: { type: 'text' } },
    tool_choice: 'auto',
    tools: [],
    top_logprobs: top_logprobs ?? 0,
    top_p: top_p ?? null,
    truncation: 'disabled',
    usage: null,
    flinch: { guard, tokens: [] },
  };
}

function responseUsage({ usage }: DoneEvent): Json {
  const { cachedTokens = 0, ...counted } = usage;
  const { prompt_tokens: input, completion_tokens: output, total_tokens, ...more } = usageFields(counted);
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: cachedTokens, cache_write_tokens: 0 },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens,
    ...more,
  };
}
