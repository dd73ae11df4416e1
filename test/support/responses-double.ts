import { z } from 'zod';
import type { Script, ScriptedReply } from './scripted-upstream.js';

/**
 * A double of OpenAI's `/v1/responses`, made from their documentation alone (API reference, "Responses", "Streaming
 * events"). The answer follows from the request:
 *
 * | the input | the answer is |
 * | --- | --- |
 * | with `tools` | a call of a function |
 * | has "think" | reasoning, then a text |
 * | has "twice" | two messages |
 * | has "refuse" | a refusal |
 * | has "long" | a text that `max_output_tokens` cuts |
 * | has "fail" | a response that fails after a few words |
 * | else | a text |
 */
export function responsesDouble(other: Script): Script {
  return (request, reply) => {
    if (request.path !== '/v1/responses') return other(request, reply);
    const asked = schema.parse(request.json);
    if (asked.model !== 'theirs') return reply.json(404, { error: { message: 'unknown model' } });
    new Answer(asked, reply).write();
  };
}

export const WORDS = ['First', ' it', ' is', ' so', '.\n', 'Größe', ' 漢字', ' 😀', '.'];
export const STORED_ID = 'resp_their_own';

const schema = z.looseObject({
  model: z.string(),
  input: z.unknown(),
  stream: z.boolean().optional(),
  tools: z.array(z.unknown()).optional(),
  include: z.array(z.string()).optional(),
  top_logprobs: z.number().optional(),
});

class Answer {
  readonly #asked: z.output<typeof schema>;
  readonly #reply: ScriptedReply;
  readonly #output: object[] = [];
  #sequence = 0;

  constructor(asked: z.output<typeof schema>, reply: ScriptedReply) {
    this.#asked = asked;
    this.#reply = reply;
  }

  write(): void {
    const { tools } = this.#asked;
    const input = JSON.stringify(this.#asked.input);
    if (this.#asked.stream) this.#reply.head();
    this.#send({ type: 'response.created', response: this.#response('in_progress') });
    this.#send({ type: 'response.in_progress', response: this.#response('in_progress') });
    if (input.includes('think')) this.#reasoning();
    if (tools?.length) this.#call();
    else if (input.includes('refuse')) this.#refusal();
    else if (input.includes('fail')) {
      this.#message(WORDS.slice(0, 3), false);
      const error = { code: 'server_error', message: 'host-17 broke' };
      this.#finish('response.failed', { ...this.#response('failed'), error });
      return;
    } else this.#message(WORDS, true);
    if (input.includes('twice')) this.#message([' Again', '.'], true);
    if (input.includes('long')) {
      const incomplete_details = { reason: 'max_output_tokens' };
      this.#finish('response.incomplete', { ...this.#response('incomplete'), incomplete_details });
    } else this.#finish('response.completed', this.#response('completed'));
  }

  #finish(type: string, response: object): void {
    if (!this.#asked.stream) {
      this.#reply.json(200, response);
      return;
    }
    this.#send({ type, response });
    this.#reply.end();
  }

  #send(event: { readonly type: string; readonly [field: string]: unknown }): void {
    if (!this.#asked.stream) return;
    const numbered = { ...event, sequence_number: this.#sequence, x_event: { deep: [1, null] } };
    this.#sequence += 1;
    this.#reply.write(`event: ${event.type}\ndata: ${JSON.stringify(numbered)}\n\n`);
  }

  #response(status: string): object {
    const usage = {
      input_tokens: 11,
      input_tokens_details: { cached_tokens: 3 },
      output_tokens: 9,
      output_tokens_details: { reasoning_tokens: 5 },
      total_tokens: 20,
    };
    return {
      id: STORED_ID,
      object: 'response',
      created_at: 1_700_000_000,
      status,
      model: 'theirs-2026-01-01',
      ...{
        output: [...this.#output],
        error: null,
        incomplete_details: null,
        instructions: null,
        metadata: {},
      },
      parallel_tool_calls: true,
      tool_choice: 'auto',
      tools: [],
      temperature: 1,
      top_p: 1,
      store: true,
      text: { format: { type: 'text' } },
      x_response: { deep: true },
      usage: status === 'in_progress' ? null : usage,
    };
  }

  #item(item: object, between: (place: { item_id: string; output_index: number }) => object): void {
    const output_index = this.#output.length;
    const item_id = `item_${output_index}`;
    const added = { ...item, id: item_id, status: 'in_progress' };
    this.#send({ type: 'response.output_item.added', output_index, item: added });
    const rest = between({ item_id, output_index });
    const done = { ...item, ...rest, id: item_id, status: 'completed' };
    this.#output.push(done);
    this.#send({ type: 'response.output_item.done', output_index, item: done });
  }

  #message(words: readonly string[], ends: boolean): void {
    this.#item({ type: 'message', role: 'assistant', content: [] }, (place) => {
      const at = { ...place, content_index: 0 };
      const empty = { type: 'output_text', annotations: [], text: '', logprobs: [] };
      this.#send({ type: 'response.content_part.added', ...at, part: empty });
      const told = this.#asked.include?.includes('message.output_text.logprobs');
      const entries = (word: string) => (told ? [this.#logprob(word)] : []);
      for (const delta of words) {
        const logprobs = entries(delta);
        this.#send({ type: 'response.output_text.delta', ...at, delta, logprobs, obfuscation: 'x' });
      }
      if (!ends) return {};
      const [text, logprobs] = [words.join(''), words.flatMap(entries)];
      const part = { ...empty, text, logprobs };
      this.#send({ type: 'response.output_text.done', ...at, text, logprobs });
      this.#send({ type: 'response.content_part.done', ...at, part });
      return { content: [part] };
    });
  }

  #logprob(token: string): object {
    const all = [
      { token, logprob: -0.1 },
      { token: `${token}?`, logprob: -3 },
    ];
    return { token, logprob: -0.1, top_logprobs: all.slice(0, this.#asked.top_logprobs ?? 0) };
  }

  #reasoning(): void {
    this.#item({ type: 'reasoning', summary: [] }, (place) => {
      const at = { ...place, summary_index: 0 };
      const part = { type: 'summary_text', text: 'Well.' };
      this.#send({ type: 'response.reasoning_summary_part.added', ...at, part: { ...part, text: '' } });
      this.#send({ type: 'response.reasoning_summary_text.delta', ...at, delta: 'Well.' });
      this.#send({ type: 'response.reasoning_summary_text.done', ...at, text: 'Well.' });
      this.#send({ type: 'response.reasoning_summary_part.done', ...at, part });
      return { summary: [part] };
    });
  }

  #call(): void {
    const item = { type: 'function_call', name: 'weather', call_id: 'call_1', arguments: '' };
    this.#item(item, (place) => {
      const type = 'response.function_call_arguments';
      this.#send({ type: `${type}.delta`, ...place, delta: '{"city":' });
      this.#send({ type: `${type}.delta`, ...place, delta: '"Bern"}' });
      this.#send({ type: `${type}.done`, ...place, arguments: '{"city":"Bern"}' });
      return { arguments: '{"city":"Bern"}' };
    });
  }

  #refusal(): void {
    this.#item({ type: 'message', role: 'assistant', content: [] }, (place) => {
      const at = { ...place, content_index: 0 };
      this.#send({ type: 'response.content_part.added', ...at, part: { type: 'refusal', refusal: '' } });
      this.#send({ type: 'response.refusal.delta', ...at, delta: 'I cannot.' });
      this.#send({ type: 'response.refusal.done', ...at, refusal: 'I cannot.' });
      const part = { type: 'refusal', refusal: 'I cannot.' };
      this.#send({ type: 'response.content_part.done', ...at, part });
      return { content: [part] };
    });
  }
}
