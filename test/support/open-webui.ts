import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { z } from 'zod';
import { freePort } from '#lab/free-port.js';
import { peersFolder } from '#lab/peers/peers-folder.js';
import { startProcess } from '#lab/peers/server.js';

export const OPEN_WEBUI = join(peersFolder(), 'environments/open-webui/bin/open-webui');

/** A server that Open WebUI asks; its models are named `<prefix>.<model>`. */
export interface Connection {
  readonly prefix: string;
  readonly url: string;
  readonly key?: string;
  readonly models: readonly string[];
}

export interface OpenWebUi {
  readonly url: string;
  /** A request to its HTTP API as its only user. */
  call(method: string, path: string, body?: object): Promise<Response>;
  close(): Promise<void>;
}

/** The real Open WebUI without login, on a free port, with requests to the given connections alone. */
export async function startOpenWebUi(connections: readonly Connection[]): Promise<OpenWebUi> {
  const folder = mkdtempSync(join(tmpdir(), 'flinch-open-webui-'));
  const port = await freePort();
  const configs = connections.map(({ prefix, models }) => ({ prefix_id: prefix, model_ids: models }));
  const env = {
    DATA_DIR: folder,
    WEBUI_AUTH: 'False',
    WEBUI_SECRET_KEY: 'none',
    OFFLINE_MODE: 'True',
    HF_HUB_OFFLINE: '1',
    // The local model that embeds documents would be fetched.
    RAG_EMBEDDING_ENGINE: 'openai',
    ENABLE_OLLAMA_API: 'False',
    ENABLE_VERSION_UPDATE_CHECK: 'False',
    ANONYMIZED_TELEMETRY: 'False',
    PYTHONDONTWRITEBYTECODE: '1',
    OPENAI_API_BASE_URLS: connections.map(({ url }) => url).join(';'),
    OPENAI_API_KEYS: connections.map(({ key = 'none' }) => key).join(';'),
    OPENAI_API_CONFIGS: JSON.stringify(Object.fromEntries(configs.entries())),
  };
  const args = ['serve', '--host', '127.0.0.1', '--port', String(port)];
  // Its page is the answer to every path, so also to that of models.
  const server = await startProcess(
    'open-webui',
    { command: OPEN_WEBUI, args, env },
    { port, log: join(folder, 'log'), timeout: 900_000 },
  );
  const url = new URL(server.url).origin;
  const signedIn = await fetch(`${url}/api/v1/auths/signin`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email: '', password: '' }),
  });
  const { token } = z.looseObject({ token: z.string() }).parse(await signedIn.json());
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const call = (method: string, path: string, body?: object): Promise<Response> =>
    fetch(`${url}${path}`, { method, headers, ...(body && { body: JSON.stringify(body) }) });
  const close = async (): Promise<void> => {
    await server.close();
    rmSync(folder, { recursive: true, force: true });
  };
  return { url, call, close };
}

/** Installs a function, such as a filter, for all models. */
export async function install({ call }: OpenWebUi, id: string, file: string): Promise<void> {
  const content = readFileSync(file, 'utf8');
  const form = { id, name: id, content, meta: { description: id, manifest: {} } };
  for (const [path, body] of [['create', form], [`id/${id}/toggle`], [`id/${id}/toggle/global`]] as const) {
    const response = await call('POST', `/api/v1/functions/${path}`, body);
    if (!response.ok) throw new Error(`${path}: ${await response.text()}`);
  }
}

/** A page that closes the news of a first visit. */
export async function openPage(browser: Browser): Promise<Page> {
  const page = await browser.newPage({ viewport: { width: 1000, height: 560 } });
  page.setDefaultTimeout(240_000);
  await page.addLocatorHandler(page.getByRole('button', { name: "Okay, Let's Go!" }), (done) => done.click());
  return page;
}

/** Asks on its page, in a new chat. @returns what its page then shows of the answer */
export async function askOnPage(
  page: Page,
  { url }: OpenWebUi,
  model: string,
  question: string,
): Promise<string> {
  await page.goto(`${url}/?models=${model}`);
  await page.getByRole('button', { name: `Selected model: ${model}` }).waitFor();
  await page.locator('#chat-input').fill(question);
  await page.locator('#send-message-button').click();
  // Is below an answer once that is whole.
  const answer = page
    .locator('[id^="message-"]')
    .filter({ has: page.getByRole('button', { name: 'Regenerate' }) });
  await answer.waitFor();
  const statuses = answer.getByRole('button', { name: 'Toggle status history' });
  if ((await statuses.count()) > 0) await statuses.click();
  return answer.innerText();
}
