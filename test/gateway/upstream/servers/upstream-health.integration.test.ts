import { pino } from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { upstreamModelSchema } from '#gateway/config/models-section.js';
import { openUpstreamModel } from '#gateway/upstream/open-upstream-model.js';
import { type Script, scriptedUpstream } from '../../../support/scripted-upstream.js';
import { vllmDouble } from '../../../support/upstream-doubles.js';

/** A server as vLLM is: it lists its model, and knows no path without `/v1`. */
const listing: Script = (request, reply) =>
  request.path === '/v1/models' ? reply.json(200, { data: [] }) : vllmDouble()(request, reply);

const nothing: Script = (_, reply) => reply.json(404, { detail: 'Not Found' });

/** What the log says of a server once it was probed. */
async function logged(script: Script, path: string): Promise<string> {
  const { url } = await scriptedUpstream(script);
  const lines: string[] = [];
  const logger = pino({}, { write: (line) => lines.push(line) });
  const config = upstreamModelSchema.parse({ upstreams: [{ url: `${new URL(url).origin}${path}` }] });
  const model = openUpstreamModel('m', config, { logger });
  onTestFinished(() => model.close());
  await expect.poll(() => lines.length).toBe(1);
  return JSON.parse(lines[0] ?? '').msg;
}

it('says that the address of a server lacks /v1', async () => {
  const hint = 'the upstream has its API below /v1: add /v1 to its url (--upstream)';
  expect(await logged(listing, '')).toBe(hint);
  expect(await logged(listing, '/')).toBe(hint);
});

it('does not say so where that would not help', async () => {
  expect(await logged(listing, '/v1')).toBe('upstream answers');
  expect(await logged(nothing, '')).toBe('upstream capabilities cannot be probed');
  expect(await logged(nothing, '/v1')).toBe('upstream capabilities cannot be probed');
});
