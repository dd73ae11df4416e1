import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';

const recording = z.object({
  request: z.object({ path: z.string(), body: z.record(z.string(), z.unknown()).nullable() }),
  status: z.number(),
  type: z.string(),
  /** Body as it came. */
  body: z.string(),
});

/** Answer of a real server to one request, byte for byte. */
export type Recording = z.output<typeof recording>;

/** A request; without a body it is a GET. */
export type Recorded = Recording['request'];

/** The folders of the recordings: the servers with their versions. */
export const VLLM = 'vllm-0.32.0';
export const LLAMA_CPP = 'llama-cpp-0c1e57098';

/** A template that has a place for reasoning, which llama.cpp finds out from it. */
export const THINKING_TEMPLATE = fileURLToPath(
  new URL('../fixtures/templates/thinking.jinja', import.meta.url),
);

const folderOf = (server: string): string =>
  fileURLToPath(new URL(`../fixtures/recordings/${server}`, import.meta.url));

/** @param server with its version: the name of the folder */
export function recordings(server: string): Readonly<Record<string, Recording>> {
  const folder = folderOf(server);
  const files = readdirSync(folder).filter((name) => name.endsWith('.json'));
  return Object.fromEntries(
    files.map((name) => [
      basename(name, '.json'),
      recording.parse(JSON.parse(readFileSync(join(folder, name), 'utf8'))),
    ]),
  );
}

export function writeRecording(server: string, name: string, made: Recording): void {
  writeFileSync(join(folderOf(server), `${name}.json`), `${JSON.stringify(made, null, 2)}\n`);
}

/** @param origin without `/v1` */
export async function record(origin: string, request: Recorded): Promise<Recording> {
  const { path, body: sent } = request;
  const response = await fetch(`${origin}${path}`, {
    ...(sent && { method: 'POST', body: JSON.stringify(sent) }),
    headers: { 'content-type': 'application/json' },
  });
  const type = response.headers.get('content-type') ?? '';
  // The folder of the model on the machine that recorded.
  const body = (await response.text()).replace(/"root":"[^"]*"/, '"root":"models/smollm2"');
  return { request, status: response.status, type, body };
}

/** Answer without the parts that differ the next time. */
export const stable = ({ status, body }: Recording): string =>
  `${status} ${body}`
    .replaceAll(/"(id|created|system_fingerprint)":\s*("[^"]*"|\d+)/g, '"$1":0')
    .replaceAll(/(-?\d+\.\d{3})\d*(e-?\d+)?/g, '$1');
