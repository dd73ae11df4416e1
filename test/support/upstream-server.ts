import { onTestFinished } from 'vitest';
import { configSchema } from '#gateway/config/gateway-config.js';
import type { UpstreamModelConfig } from '#gateway/config/models-section.js';
import { UpstreamServer } from '#gateway/upstream/servers/upstream-server.js';
import type { UpstreamPiece, UpstreamRequest, UpstreamResponse } from '#gateway/upstream/upstream.js';

/** The configuration of a model with upstreams, with the defaults of all that `changes` does not say. */
export function upstreamConfig(urls: readonly string[], changes: object = {}): UpstreamModelConfig {
  const upstreams = urls.map((url) => ({ url }));
  const { models = {} } = configSchema.parse({ models: { m: { upstreams, ...changes } } });
  const model = models.m;
  if (!model || !('upstreams' in model)) throw new Error('this is no model with upstreams');
  return model;
}

/** A client of one server, until the test has ended. */
export function clientOf(
  url: string,
  changes: object = {},
  options: { readonly now?: () => number; readonly model?: string } = {},
): UpstreamServer {
  const { timeouts } = upstreamConfig([url], changes);
  const server = new UpstreamServer({
    url,
    model: 'their-model',
    key: null,
    timeouts,
    ...options,
  });
  onTestFinished(() => server.close());
  return server;
}

export const anUpstreamRequest = (changes: Partial<UpstreamRequest> = {}): UpstreamRequest => ({
  messages: [{ role: 'user', content: 'Say it.' }],
  sampling: {},
  stop: [],
  topLogprobs: 2,
  ...changes,
});

export const open = (
  server: UpstreamServer,
  changes: Partial<UpstreamRequest> = {},
): Promise<UpstreamResponse> => server.open(anUpstreamRequest(changes), new AbortController().signal);

/** All pieces, and the error in the end, if there is one. */
export async function readAll(
  answer: UpstreamResponse,
): Promise<{ readonly pieces: UpstreamPiece[]; readonly text: string; readonly error: unknown }> {
  const pieces: UpstreamPiece[] = [];
  let error: unknown = null;
  try {
    for (let more = await answer.read(); more; more = await answer.read()) pieces.push(...more);
  } catch (caught) {
    error = caught;
  }
  return { pieces, text: pieces.map(({ text }) => text).join(''), error };
}
