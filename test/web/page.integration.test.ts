/// <reference lib="dom" />
import { describe, expect, it } from 'vitest';
import { useFolder } from '../support/cli.js';
import { useGateway } from '../support/gateway.js';
import { calibratedReasoner } from '../support/guarded-model.js';
import { chromiumFor, tokensOf, usePage } from '../support/page.js';
import { kill } from '../support/process.js';
import { GUESSED_QUESTION, LONG_QUESTION, QUESTION } from '../support/requests.js';
import { flaggedStep, MISMATCH, withoutScorer } from '../support/upstream-events.js';

const executablePath = chromiumFor('page.integration.test.ts');
const folder = useFolder();

/** Whether the text of an answer is complete. */
const isEnd = (message: unknown): boolean =>
  /^(text|generation)\.done$/.test(JSON.parse(String(message)).type);

describe.skipIf(!executablePath)('answers on the page', () => {
  const gateway = useGateway(() => calibratedReasoner(folder.path('reasoner'), 0.00015));
  const shared = usePage(executablePath, () => gateway.url);
  const last = () => shared.answers.last();

  it('are shown token by token, each coloured by its score', async () => {
    await shared.set({ view: 'plain', temperature: '0', colours: 'nll' });
    const answer = await shared.answered(QUESTION);
    const tokens = tokensOf(answer);
    expect(await tokens.count()).toBeGreaterThan(40);
    expect(await answer.locator('[data-score="missing"]').count()).toBe(0);
    expect((await tokens.allTextContents()).join('')).toMatch(/89\.$/);
    const colours = await tokens.evaluateAll((spans) =>
      spans.map((span) => getComputedStyle(span).backgroundColor),
    );
    expect(new Set(colours).size).toBeGreaterThan(3);
    await shared.picture('score');
  });

  it('explain a token under the pointer: numbers and rival', async () => {
    await tokensOf(last()).filter({ hasText: 'We' }).first().hover();
    const text = (await shared.page.locator('#token-card').textContent())?.toLowerCase();
    for (const fact of ['adv. pert.', 'nll', 'entropy', 'margin', 'rival', 'of ordinary tokens'])
      expect(text).toContain(fact);
  });

  it('are stopped', async () => {
    const { page } = shared;
    let cancelled = false;
    let isWritten = false;
    // The embedded model may be done before a click.
    await page.routeWebSocket('**/v1/stream', (socket) => {
      const server = socket.connectToServer();
      socket.onMessage((message) => {
        cancelled ||= JSON.parse(String(message)).type === 'generation.cancel';
        server.send(message);
      });
      server.onMessage((message) => {
        isWritten ||= isEnd(message);
        if (cancelled || !isWritten) socket.send(message);
      });
    });
    await shared.reload();
    await shared.set({ temperature: '0' });
    const answer = await shared.ask(LONG_QUESTION);
    await tokensOf(answer).nth(10).waitFor();
    await page.locator('button#stop').click();
    await shared.ended(answer);
    expect(await answer.locator('.status').textContent()).toContain('Stopped by you');
    await expect.poll(() => cancelled).toBe(true);
    await gateway.idle();
  });

  it('say when scoring was lost, and mark the tokens without scores', async () => {
    const answer = await shared.ask(LONG_QUESTION);
    await answer.locator('[data-score="scored"]').first().waitFor();
    kill(gateway.engine.status().score.pid);
    await shared.ended(answer, 'failed');
    expect(await answer.textContent()).toContain('died');
  });

  it('strike out what the guard takes back, and list what it chose from', async () => {
    const { page } = shared;
    const events: Record<string, unknown>[] = [];
    // The seed has no control on the page.
    await page.routeWebSocket('**/v1/stream', (socket) => {
      const server = socket.connectToServer();
      socket.onMessage((message) => {
        const { guard, ...request } = JSON.parse(String(message));
        expect(guard).toMatchObject({ action: 'rollback', rate: 0.99, candidates: 3 });
        server.send(JSON.stringify({ ...request, guard, seed: 8 }));
      });
      server.onMessage((message) => {
        events.push(JSON.parse(String(message)));
        socket.send(message);
      });
    });
    await shared.reload();
    const guard = { 'guard-rate': '99', 'guard-candidates': '3' };
    await shared.set({
      view: 'plain',
      'guard-action': 'rollback',
      ...guard,
      temperature: '1',
      colours: 'nll',
    });
    const answer = await shared.answered(GUESSED_QUESTION);
    const texts: unknown[] = [];
    for (const { type, text, from } of events) {
      if (type === 'token.delta') texts.push(text);
      if (type === 'token.retracted') texts.length = Number(from);
    }
    const of = (type: string) => events.filter((event) => event.type === type);
    const replaced = of('rollback.done').filter(({ outcome }) => outcome === 'replaced');
    expect(replaced.length).toBeGreaterThan(0);
    expect(await tokensOf(answer).allTextContents()).toEqual(texts);
    expect(await tokensOf(answer).locator('xpath=self::*[@data-flagged]').count()).toBeGreaterThan(0);

    const flags = replaced.map(({ step }) => of('step.flagged').find((flag) => flag.step === step));
    const struck = flags.map((flag) => String(flag?.text).trim());
    for (const view of ['plain', 'formatted']) {
      await shared.set({ view });
      const gone = answer.locator('.text del');
      expect(await gone.allTextContents(), view).toEqual(struck);
      // Right before the first token of what took its place.
      const next = await gone.evaluateAll((all) =>
        all.map(({ nextElementSibling: next }) => (next instanceof HTMLElement ? next.dataset.index : '')),
      );
      expect(next.map(Number), view).toEqual(flags.map((flag) => flag?.from));
    }
    await shared.set({ view: 'plain' });
    const drawn = answer.locator('.rollback');
    expect(await drawn.count()).toBe(of('rollback.done').length);
    expect(await drawn.first().textContent()).toMatch(
      /^Sampled 3 others and (kept this one|took one of them)/,
    );
    for (const each of await drawn.locator('summary').all()) await each.click();
    expect(await answer.locator('.candidate-chosen').count()).toBe(of('rollback.done').length);
    await shared.picture('guard');
  });

  it('underline each step by its risk, with a kind of line for each level', async () => {
    const styleOf = (element: Element) => {
      const { textDecorationStyle, textDecorationThickness } = getComputedStyle(element);
      return `${textDecorationStyle} ${textDecorationThickness}`;
    };
    const samples = shared.page.locator('.legend-level');
    const styles = await samples.evaluateAll((all) =>
      all.map((each) => {
        const { textDecorationStyle, textDecorationThickness } = getComputedStyle(each);
        return `${textDecorationStyle} ${textDecorationThickness}`;
      }),
    );
    expect(styles).toHaveLength(5);
    expect(new Set(styles).size).toBe(5);
    expect(await last().locator('[data-flagged]').first().evaluate(styleOf)).toMatch(/^wavy/);
  });

  it('have a chart of each method, whose bars lead to the tokens', async () => {
    const { page } = shared;
    const canvas = page.locator('.curve-plot canvas');
    const drawn = () => canvas.evaluate((each: HTMLCanvasElement) => each.toDataURL());
    const before = await drawn();
    const { x, y, width, height } = (await page.locator('.curve-plot .u-over').boundingBox())!;
    await page.mouse.move(x + width / 2, y + height / 2);
    const card = page.locator('#token-card');
    await card.waitFor();
    const active = last().locator('[data-active]');
    const index = Number(await active.getAttribute('data-index'));
    expect(Math.abs(index - (await tokensOf(last()).count()) / 2)).toBeLessThan(2);
    await page.mouse.click(x + width / 2, y + height / 2);
    await expect.poll(() => active.getAttribute('data-index')).toBe(String(index));

    await page.mouse.move(x + width / 4, y + height / 2);
    await page.mouse.down();
    await page.mouse.move(x + width / 2, y + height / 2, { steps: 4 });
    await page.mouse.up();
    await expect.poll(drawn).not.toBe(before);
    await page.mouse.dblclick(x + width / 2, y + height / 2);
    await expect.poll(drawn).toBe(before);
  });

  it('go on when their connection was lost', async () => {
    const { page } = shared;
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
    await shared.reload();
    await shared.set({ temperature: '0' });
    const answer = await shared.answered(QUESTION);
    expect(sockets).toBe(2);
    expect((await tokensOf(answer).allTextContents()).join('')).toMatch(/89\.$/);
    expect(await page.locator('#connection-words').textContent()).toBe('Connected');
  });

  it('end if their server was started anew, and say so once', async () => {
    const { page } = shared;
    const sockets: (() => void)[] = [];
    let isWritten = false;
    let start = () => {};
    const restarted = new Promise<void>((resolve) => {
      start = resolve;
    });
    await page.routeWebSocket('**/v1/stream', async (socket) => {
      if (sockets.length > 0) await restarted;
      const server = socket.connectToServer();
      sockets.push(() => {
        void server.close({ code: 4001 });
        void socket.close({ code: 4001 });
      });
      socket.onMessage((message) => {
        const request = JSON.parse(String(message));
        // Each start of a gateway has an epoch of its own.
        server.send(JSON.stringify(request.epoch ? { ...request, epoch: 'another' } : request));
      });
      server.onMessage((message) => {
        isWritten ||= isEnd(message);
        if (sockets.length > 1 || !isWritten) socket.send(message);
      });
    });
    await shared.reload();
    const answer = await shared.ask(QUESTION);
    await tokensOf(answer).nth(10).waitFor();
    const header = page.locator('#connection-words');
    sockets[0]!();
    await expect.poll(() => header.textContent()).toBe('Reconnecting');
    await page.locator('#question').fill('And then?');
    await page.keyboard.press('Enter');
    const notice = page.locator('#notice');
    await notice.getByText(/Reconnecting… Your question was not sent and stays below/).waitFor();
    expect(await page.locator('#question').inputValue()).toBe('And then?');
    await shared.picture('not-sent');

    start();
    await shared.ended(answer, 'failed');
    await expect.poll(() => header.textContent()).toBe('Connected');
    expect(await notice.isVisible()).toBe(false);
    expect(await answer.getByRole('alert').allTextContents()).toEqual([
      expect.stringMatching(/^The server no longer has the rest of this answer/),
    ]);
    await page.locator('#question').focus();
    await page.keyboard.press('Enter');
    await shared.ended(shared.answers.last());
    expect(await page.locator('.question').last().textContent()).toBe('And then?');
    await page.unrouteAll();
  });

  it('go on when the page is loaded again while they are written', async () => {
    // One whose sockets were never routed: a routed one is not closed before the page is gone.
    const page = await shared.page.context().newPage();
    shared.watch(page);
    await page.goto(gateway.url);
    await shared.ready(page);
    await page.locator('#options-button').click();
    await page.locator('#temperature').fill('0');
    await page.locator('#question').fill(LONG_QUESTION);
    await page.keyboard.press('Enter');
    const answer = page.locator('article.answer');
    await tokensOf(answer).nth(10).waitFor();
    await page.locator('#question').fill('half a questi');
    await page.reload();
    await shared.ended(answer);
    expect(await page.locator('#question').inputValue()).toBe('half a questi');
    const status = await answer.locator('.status').textContent();
    expect(status).toMatch(/^(Looks ordinary|⚑ )/);
    expect(await answer.locator('.details').textContent()).not.toMatch(/without a score|not scored/);
    await page.close();
    await gateway.idle();
  });

  it('say which scores a model has, and that its scorer is the wrong one', async () => {
    await shared.answerWith((id) => withoutScorer(id, { events: [MISMATCH] }));
    const answer = await shared.answered(QUESTION);
    expect(await shared.page.locator('.curve-methods').textContent()).toBe('NLL');
    expect(await answer.locator('.mismatch').textContent()).toContain('probably different models');
    expect(await answer.locator('.details').textContent()).toContain('there is no scorer');
    await tokensOf(answer).first().hover();
    const card = await shared.page.locator('#token-card').textContent();
    expect(card).not.toMatch(/id|Probability|null|NaN/);
    expect(card).toContain('NLL0.5');
  });

  it('have no chart, legend or button without a token', async () => {
    await shared.answerWith((id) => {
      const [created, _token, _score, done] = withoutScorer(id);
      return [{ ...created }, { ...done, offset: 1 }];
    });
    await shared.newChat();
    const answer = await shared.answered(QUESTION);
    expect(await shared.page.locator('.chart, .legend').count()).toBe(0);
    expect(await answer.getByRole('button').allTextContents()).toEqual(['Ask again', 'Edit', 'Delete']);
  });

  it('are Markdown that can do no harm, with colours and flags, and are copied', async () => {
    const text =
      '**Yes**: `List<int>` <img src="https://evil.example/?q"> ![a](https://evil.example/b) [x](javascript:alert) [y](https://example.org)';
    await shared.answerWith((id) => withoutScorer(id, { text, events: [flaggedStep(text)] }));
    const asked: string[] = [];
    shared.page.on('request', (request) => asked.push(request.url()));
    await shared.set({ view: 'formatted' });
    const answer = await shared.answered(QUESTION);
    const formatted = answer.locator('.formatted');
    expect(await formatted.locator('strong').textContent()).toBe('Yes');
    expect(await formatted.locator('code').textContent()).toBe('List<int>');
    const marks = formatted.locator('[data-level="flagged"]');
    expect((await marks.allTextContents()).join('')).toContain('Yes: List<int>');
    const [drawn, flags, colours] = await marks.evaluateAll((all) => [
      all.map((mark) => getComputedStyle(mark).textDecorationStyle),
      all.filter((mark) => getComputedStyle(mark, '::before').content.includes('⚑')).length,
      all.map((mark) => getComputedStyle(mark).backgroundColor),
    ]);
    expect([new Set(drawn), flags]).toEqual([new Set(['wavy']), 1]);
    expect(new Set(colours).size).toBe(1);
    expect(colours[0]).not.toBe('rgba(0, 0, 0, 0)');
    await marks.first().hover();
    expect(await shared.page.locator('#token-card').textContent()).toContain('flagged');
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

    await shared.page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await answer.getByRole('button', { name: 'Copy' }).click();
    await answer.getByRole('button', { name: 'Copied' }).waitFor();
    expect(await shared.page.evaluate(() => navigator.clipboard.readText())).toBe(text);
  });

  it('have their formulas drawn, in the colour of the riskiest token; a broken one is text', async () => {
    const text = 'So \\(x^2\\) and \\[\\frac{1}{2}\\] cost $5 and $6, but \\(\\frac{1\\) is broken.';
    await shared.answerWith((id) => withoutScorer(id, { text, events: [flaggedStep(text)] }));
    const answer = await shared.answered(QUESTION);
    const formulas = answer.locator('[data-tex]');
    await expect.poll(() => formulas.locator('.katex').count()).toBe(2);
    expect(await formulas.nth(2).textContent()).toBe('\\(\\frac{1\\)');
    expect(await answer.locator('.text').textContent()).toContain('cost $5 and $6');
    const formula = formulas.first();
    expect(await formula.getAttribute('data-level')).toBe('flagged');
    expect(await formula.evaluate((each) => getComputedStyle(each).backgroundColor)).not.toBe(
      'rgba(0, 0, 0, 0)',
    );
    await formula.locator('.katex-html').hover();
    await shared.page.locator('#token-card').waitFor();
    expect(await shared.page.locator('#token-card').count()).toBe(1);
    await shared.picture('formulas');
  });
});
