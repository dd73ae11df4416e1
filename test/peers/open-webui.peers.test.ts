import { createHash } from 'node:crypto';
import { pino } from 'pino';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { configSchema } from '#gateway/config/gateway-config.js';
import { type Gateway, Metrics, type OpenModels, openModels, startGateway } from '#gateway/index.js';
import { findChromium, launchChromium } from '../support/chromium.js';
import { REASONER } from '../support/golden.js';
import {
  askOnPage,
  install,
  OPEN_WEBUI,
  type OpenWebUi,
  openPage,
  startOpenWebUi,
} from '../support/open-webui.js';
import {
  OPEN_WEBUI_REQUESTS,
  type OpenWebUiRequest,
  passedOn,
  writeOpenWebUiRequests,
} from '../support/open-webui-requests.js';
import { askedOf, openAiDouble } from '../support/openai-double.js';
import { needs } from '../support/peers.js';
import { type ScriptedUpstream, startScriptedUpstream } from '../support/scripted-upstream.js';

const executablePath = findChromium('open-webui.peers.test.ts');
const { missing, reason } = needs(OPEN_WEBUI, executablePath ?? 'Chromium');

/** An answer in which the embedded model gets a step wrong, and doubts it: 66 * 9 = 694. */
const DOUBTED = 'What is (82 - 16) * 9 - 54 + 59?';
const SAMPLING = { temperature: 1, seed: 1 };

const POLICIES = {
  open: {},
  strict: { defaults: { action: 'rollback', delivery: 'held' }, locked: 'all' },
  watching: { defaults: { action: 'annotate' } },
  halting: { defaults: { action: 'stop', delivery: 'held' }, locked: ['enabled', 'action'] },
};
const keyOf = (name: string): string => `the-key-of-${name}-0123456789`;

/** Without what is new each time, the shortest first: some are sent at once. */
const steady = (bodies: readonly OpenWebUiRequest[]): readonly unknown[] =>
  bodies
    .map((body) => JSON.stringify(passedOn(body)).replace(TIMES, 'now'))
    .sort((a, b) => a.length - b.length)
    .map((text) => JSON.parse(text));
const TIMES = /\d{4}-\d\d-\d\dT[\d:.+]+|(?<=timestamp\\":)\d+/g;
const withFewTools = ({ tools, ...rest }: OpenWebUiRequest): OpenWebUiRequest => ({
  ...rest,
  ...(Array.isArray(tools) && { tools: tools.slice(0, 3) }),
});

describe.skipIf(missing)(`Open WebUI${reason}`, () => {
  let double: ScriptedUpstream;
  let opened: OpenModels;
  let gateway: Gateway;
  let webUi: OpenWebUi;
  let browser: Browser;
  let page: Page;

  beforeAll(async () => {
    double = await startScriptedUpstream(openAiDouble());
    const { models = {}, access } = configSchema.parse({
      models: { reasoner: { checkpoint: REASONER }, m: { upstreams: [{ url: double.url }] } },
      access: {
        keys: Object.entries(POLICIES).map(([name, guard]) => {
          const sha256 = createHash('sha256').update(keyOf(name)).digest('hex');
          return { name, sha256, guard };
        }),
      },
    });
    const logger = pino({ level: 'silent' });
    opened = await openModels(models, { logger, env: {}, metrics: new Metrics() });
    gateway = await startGateway({ models: opened.models, config: { access, listen: { port: 0 } }, logger });
    webUi = await startOpenWebUi([
      { prefix: 'direct', url: double.url, models: ['m'] },
      ...Object.keys(POLICIES).map((name) => ({
        prefix: name,
        url: `${gateway.url}/v1`,
        key: keyOf(name),
        // Of one, what it lists itself.
        models: name === 'open' ? [] : ['reasoner'],
      })),
    ]);
    browser = await launchChromium(executablePath!);
    page = await openPage(browser);
  });
  afterAll(async () => {
    await browser?.close();
    await webUi?.close();
    await gateway?.close();
    await opened?.close();
    await double?.close();
  });

  const ask = async (model: string, question: string): Promise<string> => {
    const text = await askOnPage(page, webUi, model, question);
    const picture = process.env.FLINCH_SCREENSHOT?.replace(/(?=\.\w+$)/, `-${model}`);
    if (picture) await page.screenshot({ path: picture });
    return text;
  };

  /** The answer on the page, and what was asked for it, also by tasks in the background. */
  async function asked(model: string) {
    const before = double.requests.length;
    const text = await ask(model, 'What time is it?');
    const requests = () => askedOf(double.requests.slice(before));
    // Title, question, result of a tool, next questions, tags.
    await expect.poll(() => requests().length, { timeout: 240_000 }).toBe(5);
    return { text, requests: requests() };
  }

  test('lists the models, and asks of them through flinch what it asks directly', async () => {
    const models: { data: { id: string }[] } = JSON.parse(
      await (await webUi.call('GET', '/api/models')).text(),
    );
    expect(models.data.map(({ id }) => id)).toEqual(
      expect.arrayContaining(['direct.m', 'open.m', 'open.reasoner', 'strict.reasoner']),
    );

    const direct = await asked('direct.m');
    const through = await asked('open.m');
    expect(through.text.replace('open.m', 'direct.m')).toBe(direct.text);
    expect(through.text).toContain('It is 21 degrees there.');
    expect(steady(through.requests)).toEqual(steady(direct.requests));
    const recorded = direct.requests.map(withFewTools);
    if (process.env.FLINCH_RECORD === '1') writeOpenWebUiRequests(recorded);
    else expect(steady(recorded)).toEqual(steady(OPEN_WEBUI_REQUESTS));
  });

  test('is held, rolled back, stopped or marked as the policy of its key says; its filter shows it', async () => {
    // The embedded model takes no tools.
    await webUi.call('POST', '/api/v1/configs/models', {
      DEFAULT_MODELS: null,
      DEFAULT_PINNED_MODELS: null,
      MODEL_ORDER_LIST: [],
      DEFAULT_MODEL_METADATA: { capabilities: { builtin_tools: false } },
      DEFAULT_MODEL_PARAMS: SAMPLING,
    });
    await install(webUi, 'flinch', 'deploy/open-webui/flinch_filter.py');

    const strict = await ask('strict.reasoner', DOUBTED);
    expect(strict).toMatch(/flagged step \(rank .*\): rollback\n.*the flagged step was replaced\n/);
    expect(strict).toContain('= 594');
    expect(strict).not.toContain('= 694');

    const watching = await ask('watching.reasoner', DOUBTED);
    expect(watching).toMatch(/flagged step \(rank .*\): .*66 \* 9 = 694\.\n/);
    expect(watching).toMatch(/flinch: answer (not )?flagged \(rank .*, 1 of \d steps flagged/);

    const halting = await ask('halting.reasoner', DOUBTED);
    expect(halting).toMatch(/flagged step \(rank .*\): stop\n.*flinch: answer flagged/);
    expect(halting).not.toContain('= 694');

    // Without flinch there is no verdict. The filter says so, after the answer.
    await ask('direct.m', 'Say it.');
    await page.getByText('flinch: answer not judged: no verdict came with it').first().waitFor();
  });

  test('is told by the gateway which setting a policy does not allow', async () => {
    await webUi.call('POST', '/api/v1/functions/id/flinch/valves/update', { action: 'annotate' });
    const refused = await askOnPage(page, webUi, 'strict.reasoner', DOUBTED);
    expect(refused).toContain('guard.action');
    expect(refused).toContain('by the policy key:strict');
  });
});
