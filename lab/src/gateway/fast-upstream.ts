import { once } from 'node:events';
import { createServer } from 'node:http';

/**
 * A server in OpenAI's shape that costs next to nothing, run as a process of its own: `tokens` tokens, one
 * every `interval` milliseconds or, at 0, as fast as they are taken. Each token's text is the time at which
 * it was sent, in nanoseconds of the machine's monotonic clock, so that a reader can compute the delay.
 */

interface Asked {
  readonly tokens: number;
  readonly interval: number;
  readonly logprobs: boolean;
}

const HEAD =
  '{"id":"chatcmpl-bench","object":"chat.completion.chunk","created":0,"model":"bench","choices":[{"index":0,"delta":';

const server = createServer(async (req, res) => {
  // A list of models, by which a gateway sees that this server is there.
  if (req.method === 'GET') return void res.end('{"object":"list","data":[]}');
  let body = '';
  for await (const part of req) body += part;
  const { tokens, interval, logprobs } = asked(body);
  res.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-cache' });
  const event = (delta: string, finish: string | null, content = 'null'): string =>
    `data: ${HEAD}${delta},"logprobs":${content},"finish_reason":${JSON.stringify(finish)}}]}\n\n`;
  const token = (): string => {
    const text = `"${process.hrtime.bigint()} "`;
    return event(`{"content":${text}}`, null, logprobs ? logprobsOf(text) : 'null');
  };
  const end = (): void => {
    res.write(event('{}', 'stop'));
    res.end('data: [DONE]\n\n');
  };
  res.write(event('{"role":"assistant","content":""}', null));
  let sent = 0;
  if (interval > 0) {
    const timer = setInterval(() => {
      res.write(token());
      sent += 1;
      if (sent < tokens) return;
      clearInterval(timer);
      end();
    }, interval);
    res.once('close', () => clearInterval(timer));
  } else {
    const left = new AbortController();
    res.once('close', () => left.abort());
    for (; sent < tokens && !res.closed; sent++) {
      if (!res.write(token())) await once(res, 'drain', { signal: left.signal }).catch(() => {});
    }
    end();
  }
});

/**
 * Parameters in the fields that every proxy passes on. A probe that asks for something else gets two tokens.
 */
function asked(body: string): Asked {
  const request: unknown = JSON.parse(body);
  const text = JSON.stringify(request).match(/tokens=(\d+) interval=(\d+)/);
  return {
    tokens: Number(text?.[1] ?? 2),
    interval: Number(text?.[2] ?? 0),
    logprobs: body.includes('"logprobs":true'),
  };
}

/** Log-probabilities in vLLM's format, with one alternative. */
function logprobsOf(text: string): string {
  const said = `{"token":${text},"logprob":-0.1,"bytes":null}`;
  const other = '{"token":"other","logprob":-2.5,"bytes":null}';
  return `{"content":[{"token":${text},"logprob":-0.1,"bytes":null,"top_logprobs":[${said},${other}]}]}`;
}

server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  process.send?.({ port: typeof address === 'object' ? address?.port : null });
});
process.once('disconnect', () => process.exit());
