import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import { type AnswerCache, Endpoint, type EndpointOptions, type JudgeAnswer } from '#bench/judge/endpoint.js';
import { httpReceiver } from './http-receiver.js';

const requestSchema = z.looseObject({
  model: z.string(),
  temperature: z.number().optional(),
  messages: z.array(z.object({ role: z.string(), content: z.string() })),
});
export type JudgeRequest = z.output<typeof requestSchema> & { readonly key: string | undefined };

/** Reply of the judge, a status with which the server refuses, or `stall`: it never answers. */
export type JudgeReply =
  | string
  | { readonly stall: true }
  | { readonly status: number; readonly body?: unknown };

/**
 * A server with the API of OpenAI's chat completions (platform.openai.com/docs/api-reference/chat). A test sets its
 * answers.
 */
export async function judgeServer(answer: (prompt: string, request: JudgeRequest) => JudgeReply) {
  const requests: JudgeRequest[] = [];
  const origin = await httpReceiver(async (req, res) => {
    const { authorization } = req.headers;
    const request = { ...requestSchema.parse(JSON.parse(await textOf(req))), key: authorization };
    requests.push(request);
    const reply = answer(request.messages.at(-1)!.content, request);
    if (typeof reply === 'object' && 'stall' in reply) return;
    const [status, body] =
      typeof reply === 'string'
        ? [200, completion(reply)]
        : [reply.status, reply.body ?? { error: { message: 'no' } }];
    // The client of the endpoint waits as long as the server says.
    res.writeHead(status, { 'content-type': 'application/json', 'retry-after-ms': '1' });
    res.end(JSON.stringify(body));
  });
  return { url: `${origin}/v1`, requests };
}

const completion = (content: string) => ({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1,
  model: 'judge',
  choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 100, completion_tokens: 7, total_tokens: 107 },
});

async function textOf(req: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of req.setEncoding('utf8')) text += String(chunk);
  return text;
}

/** A cache that is only remembered. */
export const memoryCache = (): AnswerCache => {
  const answers = new Map<string, JudgeAnswer>();
  return { get: (key) => answers.get(key), add: (key, answer) => void answers.set(key, answer) };
};

/** An endpoint of such a server; it asks again only where `retries` say so. */
export async function useEndpoint(
  answer: (prompt: string) => JudgeReply,
  options: Partial<EndpointOptions> = {},
  cache = memoryCache(),
) {
  const { url, requests } = await judgeServer(answer);
  const settings = { model: 'judge', apiKey: null, timeoutMs: 10_000, retries: 0 };
  return {
    endpoint: new Endpoint({ baseUrl: url, ...settings, ...options }, cache),
    requests,
    prompts: () => requests.map(({ messages }) => messages[0]!.content),
  };
}
