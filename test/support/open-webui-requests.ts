import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';

/**
 * Requests of the page of the real Open WebUI 0.12.4 to a server for one question: title, question, result of a tool,
 * next questions, tags. The first three of its tools are kept. FLINCH_RECORD=1 writes the file anew
 * (test/peers/open-webui.peers.test.ts). Its prompts: Copyright (c) 2023- Open WebUI Inc., Open WebUI License.
 */
const FILE = fileURLToPath(new URL('../fixtures/open-webui-0.12.4.json', import.meta.url));

const bodies = z.array(z.record(z.string(), z.unknown()));
export type OpenWebUiRequest = z.output<typeof bodies>[number];

export const OPEN_WEBUI_REQUESTS: readonly OpenWebUiRequest[] = bodies.parse(
  JSON.parse(readFileSync(FILE, 'utf8')),
);

export const writeOpenWebUiRequests = (requests: readonly OpenWebUiRequest[]): void =>
  writeFileSync(FILE, `${JSON.stringify(requests, null, 2)}\n`);

/** Fields that flinch sets itself. */
const OWNED: ReadonlySet<string> = new Set(['model', 'stream', 'stream_options', 'logprobs', 'top_logprobs']);

export const passedOn = (body: OpenWebUiRequest): OpenWebUiRequest =>
  Object.fromEntries(Object.entries(body).filter(([name]) => !OWNED.has(name)));
