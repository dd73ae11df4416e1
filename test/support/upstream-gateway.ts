import { Writable } from 'node:stream';
import { pino } from 'pino';
import { onTestFinished } from 'vitest';
import { type GatewayOptions, Models, startGateway } from '#gateway/index.js';
import { openUpstreamModel, type UpstreamModelOptions } from '#gateway/upstream/open-upstream-model.js';
import { post, sseData } from './gateway.js';
import { type Script, type ScriptedUpstream, scriptedUpstream } from './scripted-upstream.js';
import { upstreamConfig } from './upstream-server.js';

export interface UpstreamGateway {
  readonly url: string;
  /** Lines of the log. */
  readonly log: readonly string[];
  /** How long retries would have waited, in milliseconds. */
  readonly waits: readonly number[];
  status(): unknown;
}

type Parameters = readonly [
  urls: readonly string[],
  changes?: object,
  options?: UpstreamModelOptions,
  config?: GatewayOptions['config'] & Pick<GatewayOptions, 'bounds'>,
];

/** A gateway whose model `m` is run by these servers, until the test has ended. Waits for retries are over at once. */
export async function upstreamGateway(...parameters: Parameters): Promise<UpstreamGateway> {
  const { close, ...gateway } = await startUpstreamGateway(...parameters);
  onTestFinished(close);
  return gateway;
}

/** The same before one server, which answers as a script says; nothing is tried again. */
export async function gatewayBefore(
  script: Script,
  changes: object = {},
): Promise<UpstreamGateway & { readonly upstream: ScriptedUpstream }> {
  const upstream = await scriptedUpstream(script);
  return { upstream, ...(await upstreamGateway([upstream.url], { retries: 0, ...changes })) };
}

/** The same, until it is closed. */
export async function startUpstreamGateway(
  ...[urls, changes = {}, options = {}, { bounds = {}, ...config } = {}]: Parameters
): Promise<UpstreamGateway & { close(): Promise<void> }> {
  const log: string[] = [];
  const waits: number[] = [];
  const destination = new Writable({
    write(line, _, done) {
      log.push(String(line));
      done();
    },
  });
  const logger = pino({ level: 'debug' }, destination);
  const wait = async (ms: number): Promise<void> => {
    waits.push(ms);
  };
  const model = openUpstreamModel('m', upstreamConfig(urls, changes), { logger, wait, ...options });
  const gateway = await startGateway({
    models: new Models([model]),
    config: { ...config, listen: { port: 0 } },
    logger,
    bounds,
  });
  const close = async (): Promise<void> => {
    await gateway.close();
    await model.close();
  };
  return { url: gateway.url, log, waits, status: () => model.status(), close };
}

export const body = (changes: object = {}) => ({
  model: 'm',
  messages: [{ role: 'user', content: 'Say it.' }],
  stream: true,
  ...changes,
});

/**
 * Result for a client of the SSE stream: the status, the text, an error within, and whether it ended well.
 * @param heard told each chunk as it comes
 */
export async function streamed(
  url: string,
  changes: object = {},
  heard: (chunk: StreamedChunk) => void = () => {},
) {
  const response = await post(url, body(changes));
  if (!response.ok) {
    const { error }: { error: { code: string; message: string; param: string | null } } = JSON.parse(
      await response.text(),
    );
    return { status: response.status, headers: response.headers, text: '', done: false, error, chunks: [] };
  }
  const chunks: StreamedChunk[] = [];
  let done = false;
  for await (const data of sseData(response)) {
    if (data === '[DONE]') {
      done = true;
      continue;
    }
    const chunk: StreamedChunk = JSON.parse(data);
    chunks.push(chunk);
    heard(chunk);
  }
  const text = chunks.map(({ choices }) => choices?.[0]?.delta.content ?? '').join('');
  const error = chunks.find((chunk) => chunk.error)?.error ?? null;
  return { status: 200, headers: response.headers, text, done, error, chunks };
}

export interface StreamedChunk {
  readonly error?: { readonly code: string; readonly message: string; readonly param: string | null };
  readonly choices?: readonly {
    readonly delta: { readonly content?: string };
    readonly finish_reason: string | null;
  }[];
  readonly usage?: Readonly<Record<string, number>> | null;
  readonly flinch?: {
    readonly verdict?: Readonly<Record<string, unknown>>;
    readonly guard?: Readonly<Record<string, unknown>>;
    readonly tokens: readonly StreamedToken[];
    readonly events?: readonly Readonly<Record<string, unknown>>[];
  };
}

export interface StreamedToken {
  readonly index: number;
  readonly id: number | null;
  readonly text: string;
  readonly logprob: number | null;
  readonly scores?: Readonly<Record<string, number>>;
  readonly missing?: readonly string[];
}
