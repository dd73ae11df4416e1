/// <reference lib="dom" />
import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { findChromium, launchChromium } from '../support/chromium.js';
import { useFolder } from '../support/cli.js';
import { useGateway } from '../support/gateway.js';
import { calibratedReasoner } from '../support/guarded-model.js';
import { kill } from '../support/process.js';
import { LONG_QUESTION, QUESTION } from '../support/requests.js';

const executablePath = findChromium('page.test.ts');

const folder = useFolder();

/** What a gateway sends of an upstream that gives log-probabilities alone, and whose scorer is another model. */
function withoutScorer(request_id: string) {
  const guard = {
    enabled: true,
    methods: ['nll'],
    method: 'nll',
    rate: 0.02,
    delivery: 'immediate',
    action: 'annotate',
  };
  const place = (offset: number) => ({ response_id: 'resp-1', offset });
  const token = { type: 'token.delta', index: 0, id: null, text: 'Hm', logprob: null };
  return [
    {
      type: 'generation.created',
      ...place(0),
      request_id,
      created: 1,
      model: 'upstream',
      prompt_tokens: null,
      guard: { ...guard, warnings: ['adversarial: there is no scorer'] },
      epoch: 'one',
      resumable: false,
    },
    { ...token, ...place(1) },
    { type: 'score.delta', ...place(2), index: 0, pass: 'stream', scores: { nll: 0.5 } },
    { type: 'scorer.mismatch', ...place(3), tokens: 20, difference: 1.2, tolerance: 0.1 },
    {
      type: 'generation.done',
      ...place(4),
      finish_reason: 'stop',
      usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
    },
  ];
}

/** The verdict on its only step. */
const flagged = (text: string) => ({
  ...{ type: 'step.done', response_id: 'resp-1', step: 0, from: 0, to: 1, text },
  ...{ per: 'step', method: 'nll', score: 0.5, risk: 0.99, calibrated: false, flagged: true },
});

describe.skipIf(!executablePath)('the page, in headless Chromium', () => {
  const gateway = useGateway(() => calibratedReasoner(folder.path('reasoner'), 0.00015));
  let browser: Browser;
  let page: Page;
  const problems: string[] = [];

  beforeAll(async () => {
    browser = await launchChromium(executablePath!);
    page = await browser.newPage();
    page.on('pageerror', (error) => problems.push(error.message));
    page.on('console', (message) => {
      if (message.type() === 'error') problems.push(message.text());
    });
    await page.goto(gateway.url);
    await page.locator('button#send:not([disabled])').waitFor();
  });
  afterAll(async () => {
    await browser?.close();
  });

  const reload = async () => {
    await page.reload();
    await page.locator('button#send:not([disabled])').waitFor();
  };
  const ended = async (answer: Locator) => answer.locator('xpath=self::*[@data-state="done"]').waitFor();
  const picture = async (name: string) => {
    const path = process.env.FLINCH_SCREENSHOT?.replace(/(?=\.\w+$)/, `-${name}`);
    if (path) await page.screenshot({ path });
  };
  const ask = async (question: string) => {
    const answers = await page.locator('article.answer').count();
    await page.locator('textarea#question').fill(question);
    await page.locator('textarea#question').press('Enter');
    const answer = page.locator('article.answer').nth(answers);
    await answer.waitFor();
    return answer;
  };

  it('shows the answer token by token, each coloured by its score', async () => {
    await page.locator('#temperature').fill('0');
    await page.locator('#colours').selectOption('adversarial'); // otherwise it is not computed
    const answer = await ask(QUESTION);
    await page.locator('#colours').selectOption('nll');
    await answer.locator('span.token').first().waitFor();
    await ended(answer);
    const tokens = answer.locator('span.token');
    expect(await tokens.count()).toBeGreaterThan(40);
    expect(await answer.locator('span.token[data-score="missing"]').count()).toBe(0);
    expect((await tokens.allTextContents()).join('')).toMatch(/89\.$/);
    const colours = await tokens.evaluateAll((spans) =>
      spans.map((span) => getComputedStyle(span).backgroundColor),
    );
    expect(new Set(colours).size).toBeGreaterThan(3);
    await picture('score');
  });

  it('explains a token under the pointer: numbers and rival', async () => {
    const hesitant = page.locator('span.token', { hasText: 'We' }).first();
    await hesitant.hover();
    const card = page.locator('#token-card');
    await card.waitFor({ state: 'visible' });
    const text = await card.textContent();
    for (const fact of ['adv. pert.', 'nll', 'entropy', 'margin', 'rival', 'not the probability of an error'])
      expect(text?.toLowerCase()).toContain(fact);
  });

  it('stops a generation', async () => {
    const answer = await ask(LONG_QUESTION);
    await answer.locator('span.token').nth(10).waitFor();
    await page.locator('button#stop').click();
    await ended(answer);
    expect(await answer.textContent()).toMatch(/cancelled|stopped/i);
    await gateway.idle();
  });

  it('says when scoring was lost, and marks the tokens without scores', async () => {
    await page.locator('#colours').selectOption('adversarial');
    const answer = await ask(LONG_QUESTION);
    await answer.locator('span.token[data-score="scored"]').first().waitFor();
    kill(gateway.engine.status().score.pid);
    await answer.locator('xpath=self::*[@data-state="failed"]').waitFor();
    expect(await answer.textContent()).toContain('died');
  });

  it('shows tokens that a schedule skipped as neither certain nor missing', async () => {
    await page.locator('#guard summary').click();
    await page.locator('#guard-schedule').selectOption('lazy');
    await page.locator('#colours').selectOption('adversarial'); // no other is skipped
    await page.locator('#temperature').fill('0');
    const answer = await ask(QUESTION);
    await ended(answer);
    const skipped = answer.locator('span.token[data-score="skipped"]');
    const [all, sure] = [await answer.locator('span.token').count(), await skipped.count()];
    expect(sure).toBeGreaterThan(5);
    expect(await answer.locator('span.token[data-score="scored"]').count()).toBe(all - sure);
    expect(await answer.locator('rect.curve-skipped').count()).toBe(sure);
    expect(await answer.locator('p.status').textContent()).toContain(`${sure} tokens skipped`);
    expect(await answer.innerHTML()).not.toContain('NaN');
    await skipped.first().hover();
    expect(await page.locator('#token-card').textContent()).toMatch(/Adv\. Pert\.skipped: not doubtful/);
    await page.locator('#guard-schedule').selectOption('windowed');
    await page.locator('#colours').selectOption('nll');
  });

  it('strikes out what the guard takes back, and lists what it chose from', async () => {
    const events: Record<string, unknown>[] = [];
    // The seed has no control on the page.
    await page.routeWebSocket('**/v1/stream', (socket) => {
      const server = socket.connectToServer();
      socket.onMessage((message) => {
        const { guard, ...request } = JSON.parse(String(message));
        expect(guard).toMatchObject({ action: 'rollback', rate: 0.99, candidates: 3, choose: 'uncertainty' });
        server.send(JSON.stringify({ ...request, guard, seed: 8 }));
      });
      server.onMessage((message) => {
        events.push(JSON.parse(String(message)));
        socket.send(message);
      });
    });
    await reload();
    await page.locator('#guard summary').click();
    await page.locator('#guard-action').selectOption('rollback');
    await page.locator('#guard-rate').fill('99');
    await page.locator('#guard-candidates').fill('3');
    await page.locator('#guard-choose').selectOption('uncertainty');
    await page.locator('#guard summary').click();
    await page.locator('#temperature').fill('1');
    await page.locator('#colours').selectOption('adversarial'); // for a curve of it
    const answer = await ask(QUESTION);
    await page.locator('#colours').selectOption('nll');
    await ended(answer);
    const texts: unknown[] = [];
    for (const { type, text, from } of events) {
      if (type === 'token.delta') texts.push(text);
      if (type === 'token.retracted') texts.length = Number(from);
    }
    const of = (type: string) => events.filter((event) => event.type === type);
    const replaced = of('rollback.done').filter(({ outcome }) => outcome === 'replaced');
    expect(replaced.length).toBeGreaterThan(0);
    expect(await answer.locator('span.token').allTextContents()).toEqual(texts);
    expect(await answer.locator('rect.curve-scored').count()).toBe(texts.length);
    const lines = texts.filter((text) => String(text).includes('\n')).length;
    expect(await answer.locator('.curve-newlines line').count()).toBe(lines);
    expect(await answer.locator('span.token.flagged').count()).toBeGreaterThan(0);

    const struck = answer.locator('.tokens del');
    const flagged = replaced.map(({ step }) => of('step.flagged').find((flag) => flag.step === step));
    expect(await struck.allTextContents()).toEqual(flagged.map((flag) => String(flag?.text).trim()));
    // Right before the first token of what took its place.
    const next = await struck.evaluateAll((all) =>
      all.map((each) =>
        each.nextElementSibling instanceof HTMLElement ? each.nextElementSibling.dataset.index : '',
      ),
    );
    expect(next.map(Number)).toEqual(flagged.map((flag) => flag?.from));
    expect(await answer.locator('.rollbacks li').count()).toBe(of('rollback.done').length);
    expect(await answer.locator('.candidate-chosen').count()).toBe(of('rollback.done').length);
    await page.unrouteAll();
    await picture('guard');
  });

  it('underlines each step by its risk, with a kind of line for each level', async () => {
    const styles = await page
      .locator('article.answer')
      .last()
      .locator('.legend-level')
      .evaluateAll((samples) =>
        samples.map((sample) => {
          const { textDecorationStyle, textDecorationThickness } = getComputedStyle(sample);
          return `${textDecorationStyle} ${textDecorationThickness}`;
        }),
      );
    expect(styles).toHaveLength(5);
    expect(new Set(styles).size).toBe(5);
    const flagged = page.locator('article.answer span.token.flagged').first();
    expect(await flagged.evaluate((span) => getComputedStyle(span).textDecorationStyle)).toBe('wavy');
    expect(await flagged.getAttribute('aria-label')).toContain('flagged');
  });

  it('draws a curve for each method, to be hidden and shown', async () => {
    const answer = page.locator('article.answer').last();
    const adversarial = answer.locator('.curve-plot .line-adversarial');
    const box = answer.getByLabel('Adv. Pert.');
    expect(await page.locator('#colours').inputValue()).toBe('nll');
    expect(await adversarial.count()).toBeGreaterThan(0);
    await box.focus();
    await page.keyboard.press('Space');
    expect(await adversarial.count()).toBe(0);
    await page.keyboard.press('Space');
    expect(await adversarial.count()).toBeGreaterThan(0);
    await page.locator('#colours').selectOption('adversarial');
    await answer.locator('.curve-plot .line-nll').first().waitFor({ state: 'attached' });
    expect(await adversarial.count()).toBe(0); // it has the bars
    await page.locator('#colours').selectOption('nll');
  });

  it('plays an answer again, from any moment', async () => {
    const answer = page.locator('article.answer').last();
    const tokens = answer.locator('span.token');
    const whole = await tokens.allTextContents();
    const slider = answer.getByLabel('Moment');
    await slider.focus();
    await page.keyboard.press('Home');
    expect(await tokens.count()).toBe(0);
    await answer.getByLabel('Speed').selectOption('4');
    await answer.getByRole('button', { name: 'Play' }).click();
    await answer.getByRole('button', { name: 'Pause' }).waitFor();
    await answer.getByRole('button', { name: 'Replay' }).waitFor();
    expect(await tokens.allTextContents()).toEqual(whole);
  });

  it('saves an answer, and opens it again', async () => {
    const answers = page.locator('article.answer');
    const [count, text] = [await answers.count(), await answers.last().locator('.tokens').textContent()];
    const download = page.waitForEvent('download');
    await answers.last().getByRole('button', { name: 'Save' }).click();
    await page.locator('#recording').setInputFiles(await (await download).path());
    await answers.nth(count).waitFor();
    expect(await answers.nth(count).locator('.tokens').textContent()).toBe(text);
    await page.locator('#recording').setInputFiles({
      name: 'letter.jsonl',
      mimeType: 'application/jsonl',
      buffer: Buffer.from('{"type":"letter"}'),
    });
    await page.getByText('letter.jsonl: this is no recording of flinch').waitFor();
  });

  it('can be used with the keyboard alone', async () => {
    await page.locator('#send').focus();
    await page.keyboard.press('?');
    const help = page.locator('#help-dialog');
    await help.waitFor({ state: 'visible' });
    await page.keyboard.press('Escape');
    await help.waitFor({ state: 'hidden' });
    await page.locator('#help').focus();
    await page.keyboard.press('/');
    expect(await page.evaluate(() => document.activeElement?.id)).toBe('question');
    await page.keyboard.press('?'); // is a character there
    expect(await page.locator('#question').inputValue()).toBe('?');
    await page.locator('#question').fill('');

    const answer = page.locator('article.answer').last();
    await answer.locator('span.token[tabindex="0"]').focus();
    await page.keyboard.press('Home');
    await page.keyboard.press('ArrowRight');
    expect(await page.evaluate(() => document.activeElement?.getAttribute('data-index'))).toBe('1');
    await page.locator('#token-card').waitFor({ state: 'visible' });
    expect(await page.locator('#token-card').textContent()).toMatch(/#1 ·.*Most probable here/);
    await page.keyboard.press('Escape');
    await page.locator('#token-card').waitFor({ state: 'hidden' });
  });

  it('has room for the answer beside the settings on a small screen, and one line of buttons', async () => {
    const wide = page.viewportSize();
    await page.setViewportSize({ width: 360, height: 740 });
    await page.locator('#guard summary').click();
    const heightOf = (selector: string) =>
      page.locator(selector).evaluate(({ clientHeight }) => clientHeight);
    expect(await heightOf('main')).toBeGreaterThan(120);
    expect(await heightOf('.fields')).toBeGreaterThan(120);
    const { scrollWidth, scrollHeight } = await page.evaluate(() => {
      const { scrollWidth, scrollHeight } = document.documentElement;
      return { scrollWidth, scrollHeight };
    });
    expect([scrollWidth, scrollHeight]).toEqual([360, 740]);
    const topOf = (selector: string) =>
      page.locator(selector).evaluate((each) => each.getBoundingClientRect().top);
    expect(await topOf('#help')).toBe(await topOf('#theme'));
    await picture('small');
    await page.locator('#guard summary').click();
    if (wide) await page.setViewportSize(wide);
  });

  it('is light or dark as the system or the button says', async () => {
    const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    await page.emulateMedia({ colorScheme: 'light' });
    const light = await paper();
    await page.emulateMedia({ colorScheme: 'dark' });
    const dark = await paper();
    expect(dark).not.toBe(light);
    await picture('dark');
    await page.locator('#theme').click();
    expect(await paper()).toBe(light);
    await page.locator('#theme').click();
    await page.emulateMedia({ colorScheme: 'light' });
    expect(await paper()).toBe(dark);
    await page.locator('#theme').click();
    expect(await paper()).toBe(light);
  });

  it('goes on with an answer whose connection was lost', async () => {
    let sockets = 0;
    await page.routeWebSocket('**/v1/stream', (socket) => {
      const server = socket.connectToServer();
      const first = sockets++ === 0;
      let heard = 0;
      server.onMessage((message) => {
        if (first && heard++ === 20) {
          void server.close({ code: 4001 });
          void socket.close({ code: 4001 });
        } else socket.send(message);
      });
    });
    await reload();
    await page.locator('#temperature').fill('0');
    const answer = await ask(QUESTION);
    await ended(answer);
    expect(sockets).toBe(2);
    expect((await answer.locator('span.token').allTextContents()).join('')).toMatch(/89\.$/);
    expect(await page.locator('#connection-words').textContent()).toBe('Resumed');
    await page.unrouteAll();
  });

  it('says which scores a model has, and that its scorer is the wrong one', async () => {
    await page.routeWebSocket('**/v1/stream', (socket) => {
      socket.onMessage((message) => {
        const { request_id } = JSON.parse(String(message));
        for (const event of withoutScorer(request_id)) socket.send(JSON.stringify(event));
      });
    });
    await reload();
    const answer = await ask(QUESTION);
    await ended(answer);
    expect(await answer.locator('.curve-toggles').textContent()).toBe('NLL');
    expect(await answer.locator('.mismatch').textContent()).toContain('probably different models');
    expect(await answer.locator('.notes').textContent()).toContain('there is no scorer');
    await answer.locator('span.token').first().hover();
    const card = await page.locator('#token-card').textContent();
    expect(card).not.toMatch(/id|Probability|null|NaN/);
    expect(card).toContain('NLL0.5');
    await page.unrouteAll();
  });

  it('offers puzzles for the embedded model, and questions for another one', async () => {
    const data = [
      {
        id: 'puzzles',
        flinch: {
          embedded: true,
          single_turn: true,
          methods: ['adversarial', 'nll'],
          method: 'nll',
          top_logprobs: 20,
        },
      },
      {
        id: 'another',
        flinch: { embedded: false, single_turn: false, methods: ['nll'], method: 'nll', top_logprobs: 1 },
      },
      {
        id: 'mute',
        flinch: { embedded: false, single_turn: false, methods: [], method: null, top_logprobs: 0 },
      },
      { id: 'of an older server' },
    ];
    await page.locator('#new-chat').click();
    await page.route('**/v1/models', (route) => route.fulfill({ json: { object: 'list', data } }));
    await reload();
    const examples = page.locator('#examples');
    expect(await examples.textContent()).toContain('Walk');
    expect(await page.locator('#embedded').isVisible()).toBe(true);
    expect(await page.locator('#single-turn').isVisible()).toBe(true);
    await page.locator('#model').selectOption('another');
    expect(await examples.textContent()).toContain('When did Albert Einstein');
    expect(await examples.textContent()).not.toContain('Walk');
    expect(await page.locator('#embedded').isVisible()).toBe(false);
    expect(await page.locator('#single-turn').isVisible()).toBe(false);
    const scores = page.locator('#intro-scores');
    const colours = page.locator('#colours');
    expect(await scores.textContent()).toContain('NLL');
    expect(await colours.locator('option').allTextContents()).toEqual(['NLL']);
    expect(await page.locator('#guard-method option').allTextContents()).toEqual(['Default', 'NLL']);
    await page.locator('#model').selectOption('mute');
    expect(await scores.textContent()).toContain('not scored');
    expect(await colours.isVisible()).toBe(false);
    await page.locator('#model').selectOption('of an older server');
    expect(await colours.locator('option').count()).toBe(8);
    await page.unrouteAll();
  });

  it('asks an upstream for no more alternatives than it has, with the system prompt', async () => {
    const requests: Record<string, unknown>[] = [];
    const data = [
      {
        id: 'few',
        flinch: { embedded: false, single_turn: false, methods: ['nll'], method: 'nll', top_logprobs: 1 },
      },
    ];
    await page.route('**/v1/models', (route) => route.fulfill({ json: { object: 'list', data } }));
    await page.routeWebSocket('**/v1/stream', (socket) => {
      socket.onMessage((message) => {
        requests.push(JSON.parse(String(message)));
        for (const event of withoutScorer(String(requests.at(-1)?.request_id)))
          socket.send(JSON.stringify(event));
      });
    });
    await reload();
    await page.locator('#system-panel summary').click();
    await page.locator('#system').fill('Be brief.');
    expect(await page.locator('#system-summary').textContent()).toBe('Be brief.');
    await ended(await ask(QUESTION));
    expect(requests.at(-1)).toMatchObject({
      top_logprobs: 1,
      clamp: true,
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: QUESTION },
      ],
    });
    await reload();
    expect(await page.locator('#system').inputValue()).toBe('Be brief.');
    // Of a chat that the browser kept, too, the model is told what was said.
    await ended(await ask('Now double that number.'));
    expect(requests.at(-1)).toMatchObject({
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: QUESTION },
        { role: 'assistant', content: 'Hm' },
        { role: 'user', content: 'Now double that number.' },
      ],
    });
    await page.locator('#system').evaluate((area: HTMLTextAreaElement) => {
      area.value = '';
      area.dispatchEvent(new Event('change'));
    });
    await page.evaluate(() => localStorage.removeItem('flinch.system'));
    await page.unrouteAll();
  });

  it('shows an answer as Markdown that can do no harm, and copies it', async () => {
    const text =
      '**Yes**: `List<int>` <img src="https://evil.example/?q"> ![a](https://evil.example/b) [x](javascript:alert) [y](https://example.org)';
    await page.routeWebSocket('**/v1/stream', (socket) => {
      socket.onMessage((message) => {
        const { request_id } = JSON.parse(String(message));
        const events = withoutScorer(request_id);
        const all = [...events.slice(0, -1), flagged(text), ...events.slice(-1)];
        for (const [offset, event] of all.entries()) {
          socket.send(JSON.stringify({ ...event, ...(event.type === 'token.delta' && { text }), offset }));
        }
      });
    });
    const asked: string[] = [];
    page.on('request', (request) => asked.push(request.url()));
    await reload();
    const answer = await ask(QUESTION);
    await ended(answer);
    await page.locator('#view').selectOption('formatted');
    const formatted = answer.locator('.formatted');
    expect(await formatted.locator('strong').textContent()).toBe('Yes');
    expect(await formatted.locator('code').textContent()).toBe('List<int>');
    const marks = formatted.locator('mark');
    expect((await marks.allTextContents()).join('')).toContain('Yes: List<int>');
    expect(await marks.first().getAttribute('title')).toContain('Flagged step');
    const [drawn, flags] = await marks.evaluateAll((all) => [
      all.map((mark) => getComputedStyle(mark).textDecorationStyle),
      all.filter((mark) => getComputedStyle(mark, '::before').content.includes('⚑')).length,
    ]);
    expect([new Set(drawn), flags]).toEqual([new Set(['wavy']), 1]);
    expect(await formatted.locator('img, script').count()).toBe(0);
    expect(await formatted.textContent()).toContain('<img src="https://evil.example/?q">');
    const links = await formatted
      .locator('a')
      .evaluateAll((all) => all.map((link) => [link.getAttribute('href'), link.getAttribute('rel')]));
    expect(links).toEqual([
      [null, 'noopener noreferrer'],
      ['https://example.org', 'noopener noreferrer'],
    ]);
    expect(asked.filter((url) => url.includes('evil'))).toEqual([]);
    expect(await answer.locator('span.token').first().isVisible()).toBe(false);
    await page.locator('#view').selectOption('tokens');
    expect(await answer.locator('span.token').first().isVisible()).toBe(true);
    await page.evaluate(() => localStorage.removeItem('flinch.view'));

    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await answer.getByRole('button', { name: 'Copy' }).click();
    await answer.getByRole('button', { name: 'Copied' }).waitFor();
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(text);
    await page.unrouteAll();
  });

  it('keeps a chat over a reload until the next is begun, with at most one chart open', async () => {
    await reload();
    const answers = page.locator('article.answer');
    const open = page.locator('details.chart[open]');
    await page.locator('#new-chat').click();
    expect(await answers.count()).toBe(0);
    await page.locator('#temperature').fill('0');
    for (const question of [QUESTION, 'What is 12 + 30 - 5? Explain each step.'])
      await ended(await ask(question));
    expect(await open.count()).toBe(1);
    const texts = await answers.locator('.tokens').allTextContents();
    await reload();
    await answers.nth(1).waitFor();
    expect(await answers.locator('.tokens').allTextContents()).toEqual(texts);
    expect(await answers.nth(1).locator('.curve').isVisible()).toBe(true);
    expect(await answers.nth(0).locator('.curve').isVisible()).toBe(false);
    await answers.nth(1).locator('.chart summary').click();
    await reload();
    await answers.nth(1).waitFor();
    expect(await open.count()).toBe(0);
    await answers.nth(0).locator('.chart summary').click();
    expect(await open.count()).toBe(1);
    await page.evaluate(() => localStorage.removeItem('flinch.chart'));
    await page.locator('#new-chat').click();
    await reload();
    expect(await answers.count()).toBe(0);
    expect(await page.locator('#intro').isVisible()).toBe(true);
    await ended(await ask(QUESTION));
  });

  it('asks for a key where the server wants one, and gives it for a ticket', async () => {
    const keys: (string | undefined)[] = [];
    await page.route('**/v1/models', async (route) => {
      const key = route.request().headers().authorization;
      if (key === 'Bearer right') await route.continue();
      else await route.fulfill({ status: 401, json: { error: { message: 'no', code: 'unauthorized' } } });
    });
    await page.route('**/v1/tickets', async (route) => {
      keys.push(route.request().headers().authorization);
      await route.fulfill({ json: { ticket: 'one-time', expires_at: 0 } });
    });
    const urls: string[] = [];
    await page.routeWebSocket('**/v1/stream*', (socket) => {
      urls.push(new URL(socket.url()).search);
    });
    await page.reload();
    const dialog = page.locator('#key-dialog');
    for (const key of ['wrong', 'right']) {
      await dialog.waitFor({ state: 'visible' });
      await page.locator('#key').fill(key);
      await page.keyboard.press('Enter');
    }
    await page.locator('button#send:not([disabled])').waitFor();
    await dialog.waitFor({ state: 'hidden' });
    expect(keys).toEqual(['Bearer right']);
    expect(urls).toEqual(['?ticket=one-time']);
    const stored = await page.evaluate(() => [
      Object.values(sessionStorage),
      Object.keys(localStorage).sort(),
    ]);
    expect(stored).toEqual([['right'], ['flinch.history', 'flinch.theme']]);
    await page.unrouteAll();
    // The browser reports each refusal by itself.
    problems.splice(0, problems.length, ...problems.filter((problem) => !problem.includes('401')));
  });

  it('had no errors of its own', () => {
    expect(problems).toEqual([]);
  });
});

describe.skipIf(!executablePath)('the page under a policy that locks the guard', () => {
  const gateway = useGateway(undefined, {
    settings: { guard: { name: 'house', defaults: { delivery: 'held', rate: 0.05 }, locked: 'all' } },
  });

  it('is answered as the operator decided, and refused once the user sets something else', async () => {
    const browser = await launchChromium(executablePath!);
    onTestFinished(() => browser.close());
    const page = await browser.newPage();
    await page.goto(gateway.url);
    await page.locator('button#send:not([disabled])').waitFor();
    const ask = async (state: string) => {
      await page.locator('textarea#question').fill('What is 12 + 30 - 5? Explain each step.');
      await page.locator('textarea#question').press('Enter');
      await page.locator(`article.answer[data-state="${state}"]`).waitFor();
    };
    await ask('done');
    await page.locator('#guard summary').click();
    await page.locator('#guard-action').selectOption('stop');
    await ask('failed');
    expect(await page.locator('article.answer').last().textContent()).toContain('locked');
  });
});
