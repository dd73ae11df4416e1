/// <reference lib="dom" />
import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { useFolder } from '../support/cli.js';
import { useGateway } from '../support/gateway.js';
import { calibratedReasoner } from '../support/guarded-model.js';
import { chromiumFor, findings, tokensOf, usePage } from '../support/page.js';
import { LONG_QUESTION, QUESTION } from '../support/requests.js';
import { flaggedStep, flagOf, withoutScorer } from '../support/upstream-events.js';

const executablePath = chromiumFor('page-use.integration.test.ts');
const folder = useFolder();

const SHORT = 'What is 12 + 30 - 5? Explain each step.';

const model = (id: string, flinch: object = {}) => ({
  id,
  flinch: {
    embedded: false,
    single_turn: false,
    methods: ['nll'],
    method: 'nll',
    top_logprobs: 1,
    problem: null,
    policy: null,
    ...flinch,
  },
});

/** Lines of the last answer's text that are in view. */
const visibleLines = (page: Page): Promise<number> =>
  page.evaluate(() => {
    const main = document.querySelector('main')!.getBoundingClientRect();
    const tokens = [...document.querySelectorAll('.exchange:last-child .text [data-index]')];
    const tops = tokens
      .flatMap((token) => [...token.getClientRects()])
      .filter(({ top, bottom }) => top >= main.top && bottom <= main.bottom)
      .map(({ bottom }) => Math.round(bottom / 8));
    return new Set(tops).size;
  });

describe.skipIf(!executablePath)('the page in use', () => {
  const gateway = useGateway(() => calibratedReasoner(folder.path('reasoner'), 0.00015));
  const shared = usePage(executablePath, () => gateway.url);

  it.each([
    ['a phone', 375, 720, 12],
    ['a desktop', 1280, 850, 20],
  ])('shows the text on %s while it is written', async (name, width, height, lines) => {
    const { page } = shared;
    await page.setViewportSize({ width, height });
    const [created, token, , done] = withoutScorer('');
    const tokens = Array.from({ length: 40 }, (_, i) => ({
      ...token,
      index: i,
      text: `${i} + 1 = ${i + 1}.\n`,
    }));
    let say = (..._events: object[]) => {};
    let isWriting = true;
    await page.routeWebSocket('**/v1/stream', (socket) => {
      if (!isWriting) return void socket.connectToServer();
      let offset = 0;
      say = (...events) => {
        for (const event of events) socket.send(JSON.stringify({ ...event, offset: offset++ }));
      };
      socket.onMessage((message) => {
        const { type, request_id } = JSON.parse(String(message));
        if (type === 'generation.create') say({ ...created, request_id }, ...tokens);
      });
    });
    await shared.reload();
    const answer = await shared.ask(QUESTION);
    await expect.poll(() => visibleLines(page)).toBeGreaterThanOrEqual(lines);
    expect(await answer.getAttribute('data-state')).toBe('streaming');
    await shared.picture(`writing-${name.replace('a ', '')}`);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(width);
    const topOf = (selector: string) =>
      page.locator(selector).evaluate((each) => each.getBoundingClientRect().top);
    expect(await topOf('#help')).toBe(await topOf('#new-chat'));
    say({ ...done });
    await shared.ended(answer);
    const colours = page.locator('.exchange').last().locator('.colours');
    expect(await colours.textContent()).toMatch(/^NLL, score: 0/);
    await colours.scrollIntoViewIfNeeded();
    expect(await colours.locator('.legend-ramp').isVisible()).toBe(true);
    isWriting = false;
    await shared.reload();
  });

  it('can be used with the keyboard alone', async () => {
    const { page } = shared;
    await page.locator('#send').focus();
    await page.keyboard.press('?');
    const help = page.getByRole('dialog', { name: 'Reading an answer' });
    await help.waitFor();
    expect(await help.textContent()).toContain('higher than 97 % of ordinary steps');
    await page.keyboard.press('Escape');
    await help.waitFor({ state: 'detached' });
    await page.locator('#help').focus();
    await page.keyboard.press('/');
    await expect.poll(() => page.evaluate(() => document.activeElement?.id)).toBe('question');
    await page.keyboard.press('?'); // is a character there
    await expect.poll(() => page.locator('#question').inputValue()).toBe('?');
    await shared.set({ temperature: '0' }); // an answer of several lines
    await shared.answered(LONG_QUESTION);

    for (const view of ['plain', 'formatted']) {
      await shared.set({ view });
      const answer = shared.answers.last();
      await answer.locator('.text > div').focus();
      await page.keyboard.press('Home');
      await page.keyboard.press('ArrowRight');
      const active = answer.locator('[data-active]');
      await expect.poll(() => active.getAttribute('data-index'), { message: view }).toBe('1');
      const card = page.locator('#token-card');
      await expect.poll(() => card.textContent(), { message: view }).toMatch(/#1 ·.*Most probable here/);
      await page.keyboard.press('ArrowDown');
      await expect
        .poll(async () => Number(await active.getAttribute('data-index')), { message: view })
        .toBeGreaterThan(2);
      await page.keyboard.press('Escape');
      await card.waitFor({ state: 'detached' });
    }
  });

  it('is light or dark as the system is', async () => {
    const { page } = shared;
    const paper = () => page.locator('#page').evaluate((each) => getComputedStyle(each).backgroundColor);
    await page.emulateMedia({ colorScheme: 'light' });
    const light = await paper();
    await page.emulateMedia({ colorScheme: 'dark' });
    const dark = await paper();
    expect(dark).not.toBe(light);
    await shared.picture('dark');
    await page.emulateMedia({ colorScheme: 'light' });
  });

  it('says what is wrong with a value beside its field, and keeps the question', async () => {
    const { page } = shared;
    await shared.set({ temperature: '9' });
    const count = await shared.answers.count();
    await page.locator('#question').fill(SHORT);
    await page.keyboard.press('Enter');
    await page.locator('#temperature-problem').getByText('0 to 2').waitFor();
    expect(await page.locator('#temperature').getAttribute('aria-invalid')).toBe('true');
    // The first option and the last: whichever is wrong is brought into view.
    for (const id of ['temperature', 'guard-rate']) {
      const values = { temperature: '', 'guard-rate': '', [id]: '999' };
      for (const [each, value] of Object.entries(values)) await page.locator(`#${each}`).fill(value);
      await page.locator('#options').evaluate((each) => {
        each.scrollTop = each.firstElementChild?.contains(document.activeElement) ? 0 : each.scrollHeight;
      });
      await page.locator('#question').press('Enter');
      await expect.poll(() => page.evaluate(() => document.activeElement?.id)).toBe(id);
      await shared.picture(`wrong-${id}`);
    }
    await page.locator('#guard-rate').fill('');
    expect(await shared.answers.count()).toBe(count);
    expect(await page.locator('#question').inputValue()).toBe(SHORT);
    await page.locator('#question').fill('');
    await shared.set({ temperature: '0' });
  });

  it('keeps chats over a reload, each for itself, to be opened and deleted', async () => {
    const { page, answers } = shared;
    await shared.newChat();
    for (const question of [QUESTION, SHORT]) await shared.answered(question);
    const texts = await answers.locator('.text').allTextContents();
    await shared.reload();
    await expect.poll(() => answers.locator('.text').allTextContents()).toEqual(texts);
    await expect.poll(() => page.locator('.chart[open]').count()).toBe(1);

    await shared.newChat();
    await shared.answered(SHORT);
    await page.locator('#chats').click();
    const dialog = page.getByRole('dialog', { name: 'Chats' });
    const titles = dialog.locator('.chat span');
    await expect.poll(async () => (await titles.allTextContents()).slice(0, 2)).toEqual([SHORT, QUESTION]);
    page.once('dialog', (asked) => void asked.accept());
    await dialog
      .getByRole('button', { name: `Delete ${SHORT}` })
      .first()
      .click();
    await expect.poll(() => titles.first().textContent()).toBe(QUESTION);
    await page.keyboard.press('Escape');
    await expect.poll(() => answers.count()).toBe(0); // it was the chat on the page
    await page.locator('#chats').click();
    await titles.first().click();
    await expect.poll(() => answers.locator('.text').allTextContents()).toEqual(texts);
  });

  it('does not lose the chat of another tab', async () => {
    const other = await shared.page.context().newPage();
    shared.watch(other);
    await other.goto(gateway.url);
    await shared.ready(other);
    expect(await other.locator('article.answer').count()).toBe(0);
    await other.locator('#question').fill(QUESTION);
    await other.keyboard.press('Enter');
    await other.locator('article.answer[data-state="done"]').waitFor();
    await shared.answered(SHORT);
    for (const page of [other, shared.page]) {
      await page.locator('#chats').click();
      const titles = page.locator('.chat span');
      await expect.poll(async () => (await titles.allTextContents()).length).toBeGreaterThanOrEqual(3);
      await page.getByRole('button', { name: 'Close' }).click();
      await titles.first().waitFor({ state: 'detached' });
    }
    await other.close();
  });

  it('offers puzzles for the embedded model, questions for another one, and what each can', async () => {
    const { page } = shared;
    await shared.newChat();
    await shared.offer(
      model('puzzles', { embedded: true, single_turn: true, methods: ['adversarial', 'nll'] }),
      model('another'),
      model('mute', { methods: [], method: null }),
      { id: 'of an older server' },
    );
    const intro = page.locator('#intro');
    await expect.poll(() => intro.textContent()).toMatch(/only knows puzzles.*each question alone.*Walk/);
    for (const width of [375, 1280]) {
      await page.setViewportSize({ width, height: 850 });
      const tooLarge = await intro.locator('.example-name').evaluateAll((all) =>
        all
          .filter((each) => {
            const range = document.createRange();
            range.selectNodeContents(each);
            return range.getClientRects().length > 1 || each.scrollWidth > each.clientWidth;
          })
          .map(({ textContent }) => textContent),
      );
      expect(tooLarge, `${width}`).toEqual([]);
    }
    await page.locator('#model').selectOption('another');
    await intro.getByText('When did Albert Einstein').waitFor();
    expect(await intro.textContent()).not.toMatch(/Walk|puzzles|alone/);
    await shared.openOptions();
    const options = (id: string) => page.locator(`#${id} option`).allTextContents();
    expect(await options('colours')).toEqual(['the method that judges', 'NLL']);
    expect(await options('guard-method')).toEqual(['default: NLL', 'NLL']);
    await page.locator('#model').selectOption('mute');
    await intro.getByText('not scored').waitFor();
    expect(await options('colours')).toEqual(['the method that judges']);
    await page.locator('#model').selectOption('of an older server');
    await expect.poll(async () => (await options('colours')).length).toBe(9);
    await shared.closeOptions();
  });

  it('says which model takes no questions, and why', async () => {
    await shared.offer(model('large', { problem: 'its server does not answer' }));
    const { page } = shared;
    await page.getByText('large takes no questions now: its server does not answer.').waitFor();
    expect(await page.locator('#connection-words').textContent()).toBe('large is unavailable');
    await shared.picture('unavailable');
    await page.unrouteAll();
  });

  it('asks for no more alternatives than there are, with the system prompt and what was said', async () => {
    const requests: unknown[] = [];
    await shared.offer(model('few'));
    await shared.answerWith((id, request) => {
      requests.push(request);
      return withoutScorer(id);
    });
    // An example may need another temperature than is set.
    await shared.page.locator('.example').first().click();
    await expect.poll(() => requests.at(-1)).toMatchObject({ temperature: 1, seed: 7 });
    await shared.ended(shared.answers.first());
    await shared.newChat();
    await shared.set({ system: 'Be brief.' });
    await shared.answered(QUESTION);
    const first = [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: QUESTION },
    ];
    expect(requests.at(-1)).toMatchObject({ top_logprobs: 1, clamp: true, messages: first });
    await shared.reload();
    // Of a chat that the browser kept, too, the model is told what was said.
    await shared.answered('Now double that number.');
    const then = [
      { role: 'assistant', content: 'Hm' },
      { role: 'user', content: 'Now double that number.' },
    ];
    expect(requests.at(-1)).toMatchObject({ messages: [...first, ...then] });
    await shared.set({ system: '' });
    await shared.page.unrouteAll();
  });

  it('has what a newcomer sets first, and greys an action that the server lacks, with how to get it', async () => {
    const { page } = shared;
    await shared.offer(model('small', { escalates_to: 'large' }), model('large'));
    const asked: unknown[] = [];
    await shared.answerWith((id, request) => {
      asked.push(request);
      return withoutScorer(id);
    });
    await shared.openOptions();
    const fields = page.locator('.options fieldset');
    expect(await fields.first().locator('label').allTextContents()).toEqual([
      ...['Temperature', 'System prompt', 'Max tokens', 'Seed', 'Top-p'],
    ]);
    expect(await fields.locator('legend').allTextContents()).toEqual(['Model', 'How it is judged']);
    await shared.picture('options');
    const isGrey = () =>
      page.locator('#guard-action option', { hasText: 'escalate' }).evaluate((each) => Object(each).disabled);
    expect(await isGrey()).toBe(false);
    await page.locator('#model').selectOption('large');
    expect(await isGrey()).toBe(true);
    expect(await page.locator('#guard-action-hint').textContent()).toContain('models.large.escalate');
    await shared.set({ temperature: '0.5', max_completion_tokens: '9', seed: '7', top_p: '0.9' });
    await shared.answered(QUESTION);
    expect(asked).toMatchObject([{ temperature: 0.5, max_completion_tokens: 9, seed: 7, top_p: 0.9 }]);
    await shared.set({ temperature: '0', max_completion_tokens: '', seed: '', top_p: '' });
    await page.unrouteAll();
  });

  it('folds thoughts away, which stay open while they grow, coloured', async () => {
    const { page } = shared;
    const [created, token, score, done] = withoutScorer('');
    let say = (..._events: object[]) => {};
    await page.routeWebSocket('**/v1/stream', (socket) => {
      let offset = 0;
      say = (...events) => {
        for (const event of events) socket.send(JSON.stringify({ ...event, offset: offset++ }));
      };
      socket.onMessage((message) => {
        const { type, request_id } = JSON.parse(String(message));
        if (type === 'generation.create') say({ ...created, request_id });
      });
    });
    await shared.reload();
    await shared.set({ view: 'formatted' });
    const answer = await shared.ask(QUESTION);
    say({ ...token, text: '<think>\nA **long** ' }, { ...score });
    const summary = answer.locator('summary').getByText('Thinking');
    await summary.waitFor();
    expect(await tokensOf(answer).first().isVisible()).toBe(false);
    // The card of a folded token is beside the words that it is behind.
    await answer.locator('.formatted').focus();
    await page.keyboard.press('Home');
    await page.locator('#token-card').waitFor();
    await page.keyboard.press('Escape');
    const cursor = answer.locator('.cursor');
    expect(await cursor.evaluate((each) => each.parentElement?.tagName)).toBe('SUMMARY');
    await summary.click();
    await shared.picture('thinking');
    say({ ...token, index: 1, text: 'way</think>Four' }, { ...score, index: 1 });
    await answer.locator('summary').getByText('Thought').waitFor();
    const text = answer.locator('.formatted');
    expect(await text.locator('details[open] .verbatim').textContent()).toBe(
      '<think>\nA **long** way</think>',
    );
    expect(await text.locator('p').last().textContent()).toBe('Four');
    const colours = await tokensOf(answer).evaluateAll((all) =>
      all.map((each) => getComputedStyle(each).backgroundColor),
    );
    expect(new Set(colours).size).toBe(1);
    expect(colours[0]).not.toBe('rgba(0, 0, 0, 0)');
    await shared.picture('thought');
    for (const [index, text, tag] of [
      [2, ' is\n\n- a **b**', 'LI'],
      [3, '\n\nand \\(\\text{if } x\\)', 'P'],
      [4, '\n\n```\nc', 'CODE'],
      [5, '\n```\n\n\\[\n    \\frac{', 'P'],
    ] as const) {
      say({ ...token, index, text });
      await answer.locator(`[data-index="${index}"], [data-tokens="${index}"]`).first().waitFor();
      await shared.picture(`cursor-${index}`);
      // A formula is drawn anew once KaTeX is there.
      await expect
        .poll(() => cursor.evaluateAll((all) => all.map((each) => each.parentElement?.tagName)))
        .toEqual([tag]);
    }
    say({ ...done });
    await shared.ended(answer);
    expect(await cursor.count()).toBe(0);
    await page.unrouteAll();
  });

  it('breaks no number of a table, scrolls what is wide, copies code, and writes from the right', async () => {
    const { page } = shared;
    const rows = ['| n '.repeat(20), '|:-:'.repeat(20), '| 1.2/0 12,345.67 '.repeat(20)];
    const code = `a = "${'b'.repeat(200)}"\nc`;
    const text = `3. [x] a\n\n${rows.join('|\n')}|\n\n\`\`\`py\n${code}\n\`\`\`\n\nשלום\n`;
    await page.setViewportSize({ width: 375, height: 720 });
    await shared.answerWith((id) => withoutScorer(id, { text }));
    const answer = await shared.answered(QUESTION);
    await shared.picture('wide');
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(375);
    const scrolls = (selector: string) =>
      answer.locator(selector).evaluate((each) => each.scrollWidth > each.clientWidth);
    expect([await scrolls('.scroll'), await scrolls('pre')]).toEqual([true, true]);
    expect(await answer.locator('ol').getAttribute('start')).toBe('3');
    const cell = answer.locator('td').first();
    expect(await cell.evaluate((each) => getComputedStyle(each).textAlign)).toContain('center');
    const linesOf = (words: string) =>
      cell.evaluate((each, searched) => {
        const range = document.createRange();
        const node = document.createTreeWalker(each, NodeFilter.SHOW_TEXT).nextNode()!;
        const at = node.textContent!.indexOf(searched);
        range.setStart(node, at);
        range.setEnd(node, at + searched.length);
        return range.getClientRects().length;
      }, words);
    expect([await linesOf('1.2/0'), await linesOf('12,345.67')]).toEqual([1, 1]);
    const hebrew = answer.locator('p').getByText('שלום');
    expect(await hebrew.evaluate((each) => getComputedStyle(each.closest('p')!).direction)).toBe('rtl');
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await answer.locator('.code button').click();
    await answer.locator('.code').getByRole('button', { name: 'Copied' }).waitFor();
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(code);
    expect(await findings(page)).toEqual([]);
    await page.setViewportSize({ width: 1280, height: 850 });
    await shared.picture('wide-desktop');
  });

  it('asks again in place, with each answer to go back to, and edits and deletes', async () => {
    const { page, answers } = shared;
    const asked: string[][] = [];
    await shared.offer(model('few'));
    await shared.answerWith((id, request) => {
      const { messages } = request as { messages: { content: string }[] };
      asked.push(messages.map(({ content }) => content));
      return withoutScorer(id, { text: `Hm ${asked.length}` });
    });
    await shared.newChat();
    await shared.answered('One?');
    await shared.answered('Two?');
    const texts = () => answers.locator('.text').allTextContents();
    const does = (name: string) => answers.last().getByRole('button', { name }).click();
    await does('Ask again');
    await expect.poll(texts).toEqual(['Hm 1', 'Hm 3']);
    expect(asked.at(-1)).toEqual(['One?', 'Hm 1', 'Two?']);
    await shared.picture('again');
    await does('Previous answer');
    await expect.poll(texts).toEqual(['Hm 1', 'Hm 2']);
    await expect.poll(() => answers.last().locator('.place').textContent()).toBe('1/2');
    await expect.poll(() => page.locator('.chart[open]').count()).toBe(1);

    await does('Edit');
    const editor = page.getByLabel('Edit the question');
    await editor.fill('Three?');
    await shared.picture('edit');
    await editor.press('Enter');
    await expect.poll(texts).toEqual(['Hm 1', 'Hm 4']);
    expect(asked.at(-1)).toEqual(['One?', 'Hm 1', 'Three?']);
    await does('Previous answer');
    await expect.poll(texts).toEqual(['Hm 1', 'Hm 3']);
    await does('Previous answer');
    await expect.poll(texts).toEqual(['Hm 1', 'Hm 2']);
    await expect
      .poll(async () => {
        await shared.reload();
        return [...(await texts()), await answers.last().locator('.place').textContent()];
      })
      .toEqual(['Hm 1', 'Hm 2', '1/3']);

    page.once('dialog', (question) => void question.accept());
    await does('Delete');
    await expect.poll(texts).toEqual(['Hm 1']);
    await shared.answered('Four?');
    expect(asked.at(-1)).toEqual(['One?', 'Hm 1', 'Four?']);
    await page.unrouteAll();
  });

  it('says first what to do with an answer, why, and has what can be done there', async () => {
    const { page, answers } = shared;
    const asked: unknown[] = [];
    await shared.offer(model('small', { escalates_to: 'large' }), model('large'));
    await shared.answerWith((id, request) => {
      asked.push(Object(request).model);
      const others = [0.55, 0.44].map((share, i) => ({ id: i, text: `4${6 - i}`, logprob: Math.log(share) }));
      const sure = asked.length > 1 ? {} : { logprob: Math.log(0.55), top_logprobs: others };
      const events = asked.length > 1 ? [] : [flaggedStep('46')];
      const estimate = { calibrated: false, estimate: { answers: 18, needed: 50 } };
      return withoutScorer(id, { text: '46', events }).map((event) => {
        const { type, guard } = Object(event);
        if (type === 'generation.created') return { ...event, guard: { ...guard, ...estimate } };
        return type === 'token.delta' ? { ...event, ...sure } : event;
      });
    });
    await shared.newChat();
    await shared.answered(QUESTION);
    const status = () => answers.last().locator('.status').textContent();
    expect(await status()).toMatch(/^⚑ Worth checking: step 1\. The answer as a whole is not judged/);
    const reason = answers.last().locator('.reasons li');
    expect(await reason.textContent()).toBe('Step 1: “46” had 55 %, “45” had 44 %.');
    const row = page.locator('.calibration');
    expect(await row.textContent()).toBe(
      'Not calibrated: answers are ranked after 50 of them; 18 so far. Colours show scores, not ranks.',
    );
    await reason.getByRole('button').click();
    await page.locator('#token-card').getByText('flagged as unusual').waitFor();
    await shared.picture('reason');
    await answers.last().getByRole('button', { name: 'Ask large' }).click();
    await expect.poll(status).toMatch(/^Not judged/);
    expect(asked).toEqual(['small', 'large']);
    expect(await page.getByRole('button', { name: 'Ask large' }).count()).toBe(0);
    await page.unrouteAll();
  });

  describe('with the keyboard alone', () => {
    const press = (key: string) => shared.page.keyboard.press(key);
    const type = (text: string) => shared.page.keyboard.type(text);
    const focused = () =>
      shared.page.evaluate(() => {
        const { activeElement: at } = document;
        return at?.getAttribute('aria-label') ?? at?.textContent ?? '';
      });
    /** Goes on with Tab, or with Shift+Tab, to what has this name. */
    const reach = async (name: RegExp, key = 'Tab') => {
      for (let i = 0; i < 20 && !name.test(await focused()); i++) await press(key);
      expect(await focused()).toMatch(name);
    };
    const TEXT = /arrow keys move between tokens/;

    it('is told why a step is flagged', async () => {
      await shared.answerWith((id) =>
        withoutScorer(id, { text: 'Five', events: [flagOf('Five'), flaggedStep('Five')] }),
      );
      await shared.newChat();
      await type(QUESTION);
      await press('Enter');
      await shared.ended(shared.answers.last());
      await reach(TEXT, 'Shift+Tab');
      await press('Home');
      const step = shared.page.locator('#token-card .card-step');
      await expect
        .poll(() => step.textContent())
        .toBe('Step 1, flagged as unusual: higher than 99.0 % of ordinary steps.');
    });

    it('compares an answer with another one', async () => {
      let count = 0;
      await shared.answerWith((id) => withoutScorer(id, { text: `Answer ${++count}` }));
      await shared.newChat();
      await type(QUESTION);
      await press('Enter');
      // Not what is told of the token that has the focus, which stands beside them.
      const text = async () => (await tokensOf(shared.answers.last()).allTextContents()).join('');
      await shared.ended(shared.answers.last());
      await reach(/^Ask again$/, 'Shift+Tab');
      await press('Enter');
      await expect.poll(text).toBe('Answer 2');
      await expect.poll(focused).toMatch(TEXT);
      await reach(/^Previous answer$/);
      for (const shown of ['Answer 1', 'Answer 2', 'Answer 1']) {
        await press('Enter');
        await expect.poll(text).toBe(shown);
        expect(await focused()).toBe('Previous answer');
      }
    });

    it('finds an older chat, renames it, and goes back', async () => {
      const { page, answers } = shared;
      const older = 'Which of the planets is the largest?';
      await shared.answerWith((id, request) => {
        const { messages } = request as { messages: { content: string }[] };
        const isOlder = messages.at(-1)?.content === older;
        return isOlder
          ? withoutScorer(id, { text: 'Jupiter', events: [flagOf('Jupiter')] })
          : withoutScorer(id);
      });
      for (const question of [older, QUESTION]) {
        await shared.newChat();
        await type(question);
        await press('Enter');
        await shared.ended(answers.last());
      }
      const address = page.url();
      expect(await page.title()).toBe(`${QUESTION} – flinch`);

      await reach(/^Chats$/, 'Shift+Tab');
      await press('Enter');
      const dialog = page.getByRole('dialog', { name: 'Chats' });
      const names = dialog.locator('.chat > span');
      await names.nth(1).waitFor();
      await reach(/^Search chats$/);
      await type('planets jup');
      await expect.poll(() => names.allTextContents()).toEqual([older]);
      expect(await dialog.locator('.chat').textContent()).toContain('flagged');
      await reach(/^Rename/);
      page.once('dialog', (asked) => void asked.accept(' Planets '));
      await press('Enter');
      await expect.poll(() => names.allTextContents()).toEqual(['Planets']);
      await shared.picture('chats');
      await reach(/^Planets/, 'Shift+Tab');
      await press('Enter');
      await answers.getByText('Jupiter').waitFor();
      await expect.poll(() => page.title()).toBe('Planets – flinch');
      const found = page.url();
      await shared.answered('And the next?'); // does not name the chat anew
      await expect.poll(() => page.title()).toBe('Planets – flinch');

      const texts = () => answers.locator('.text').allTextContents();
      await page.goBack();
      await expect.poll(texts).toEqual(['Hm']);
      expect(page.url()).toBe(address);
      await page.goForward();
      await expect.poll(texts).toEqual(['Jupiter', 'Hm']);
      expect(page.url()).toBe(found);
      await shared.reload();
      await expect.poll(texts).toEqual(['Jupiter', 'Hm']);
    });
  });

  it('hands over a chat as a file', async () => {
    const { page } = shared;
    await page.locator('#chats').click();
    const dialog = page.getByRole('dialog', { name: 'Chats' });
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      dialog.getByRole('button', { name: 'Export Planets' }).click(),
    ]);
    expect(file.suggestedFilename()).toBe('Planets.json');
    const rows = JSON.parse(await readFile(await file.path(), 'utf8'));
    expect(rows).toMatchObject([
      { response: 'Jupiter', flinch: { tokens: [{ scores: { nll: 0.5 } }], flagged: [{ text: 'Jupiter' }] } },
      { messages: [{}, { content: 'Jupiter' }, { content: 'And the next?' }], response: 'Hm' },
    ]);
    await dialog.getByLabel('Search chats').fill('no such word');
    await dialog.getByText('No chat found').waitFor();
    await page.keyboard.press('Escape');
  });

  it('goes back from an answer that is being written, and keeps what there is of it', async () => {
    const { page, answers } = shared;
    await shared.answerWith((id, request) =>
      withoutScorer(id).slice(0, JSON.stringify(request).includes(LONG_QUESTION) ? 3 : 4),
    );
    await shared.newChat();
    await shared.answered(SHORT);
    const first = page.url();
    await shared.newChat();
    await tokensOf(await shared.ask(LONG_QUESTION))
      .first()
      .waitFor();
    await page.goBack();
    const questions = page.locator('.question');
    await expect.poll(() => questions.allTextContents()).toEqual([SHORT]);
    expect(page.url()).toBe(first);
    await page.goForward();
    await expect.poll(() => questions.allTextContents()).toEqual([LONG_QUESTION]);
    expect(await answers.locator('.status').textContent()).toContain('Stopped by you');
    await page.unrouteAll();
  });

  it('shows the wait and an error where the answer will be', async () => {
    const { page } = shared;
    const messages: { text: string; send: (event: object) => void }[] = [];
    await page.setViewportSize({ width: 1280, height: 850 });
    await page.routeWebSocket('**/v1/stream', (socket) => {
      socket.onMessage((text) =>
        messages.push({ text: String(text), send: (event) => socket.send(JSON.stringify(event)) }),
      );
    });
    await page.goto(gateway.url);
    await shared.ready();
    const placesOf = () =>
      page.locator('.exchange > .question, .answer > .text, .status').evaluateAll((all) =>
        all.map((each) => {
          const { x, y, width, height } = each.getBoundingClientRect();
          return each.matches('.question') ? { x, y, width, height } : { x, y };
        }),
      );
    const answer = await shared.ask(SHORT);
    const waiting = await placesOf();
    await shared.picture('waiting');
    await expect.poll(() => messages.length).toBe(1);
    const { text, send } = messages[0]!;
    const { request_id: id } = JSON.parse(text);
    for (const event of withoutScorer(id, { warnings: [] }).slice(0, 3)) send(event);
    await tokensOf(answer).first().waitFor();
    expect(await placesOf()).toEqual(waiting);
    const error = { type: 'overloaded', code: 'overloaded', message: 'no slot is free', param: null };
    await page.locator('button#stop').click();
    await shared.newChat();
    const failed = await shared.ask(SHORT);
    await expect.poll(() => messages.filter((each) => each.text.includes('create')).length).toBe(2);
    const request = JSON.parse(messages.findLast((each) => each.text.includes('create'))!.text);
    messages.at(-1)!.send({ type: 'error', request_id: request.request_id, error });
    await shared.ended(failed, 'failed');
    await shared.picture('failed');
    expect((await placesOf()).slice(0, 2)).toEqual(waiting.slice(0, 2));
    await page.unrouteAll();
  });

  it('keeps formulas within their answer', async () => {
    const { page } = shared;
    await page.setViewportSize({ width: 1280, height: 850 });
    const box = '\\rule{19em}{2em}';
    const text = [
      ...[`\\hspace{-40em}${box}`, `\\hspace{20em}\\hspace{10em}\\rlap{${box}}`],
      `\\smash{\\raisebox{-4em}{$${box}$}}`,
    ].map((tex) => `So \\(${tex}\\) is it.\n\n`);
    const deep = `\\(${'\\frac{1}{'.repeat(250)}x${'}'.repeat(250)}\\)`;
    await shared.answerWith((id) => withoutScorer(id, { text: `${deep}\n\n${text.join('')}` }));
    await shared.set({ view: 'formatted' });
    const answer = await shared.answered(QUESTION);
    await expect.poll(() => answer.locator('.katex-rule').count()).toBe(text.length);
    await shared.picture('formulas-that-stray');
    const strays = await answer.locator("xpath=./div[@class='text']").evaluate((own) => {
      const within = own.getBoundingClientRect();
      const found: string[] = [];
      for (let x = 2; x < innerWidth; x += 12)
        for (let y = 2; y < innerHeight; y += 12) {
          const outside =
            x < within.left - 6 || x > within.right + 6 || y < within.top - 6 || y > within.bottom + 6;
          if (outside && own.contains(document.elementFromPoint(x, y))) found.push(`${x},${y}`);
        }
      return found;
    });
    expect(strays).toEqual([]);
    await page.unrouteAll();
  });

  it('has nothing that axe-core finds fault with', async () => {
    const { page } = shared;
    const text = '<think>Hm</think>So \\(x^2\\) is **wrong**.\n\n- a `b`\n';
    const found = async (state: string) => expect(await findings(page), state).toEqual([]);
    await shared.newChat();
    await shared.set({ view: 'plain' });
    await shared.answered(QUESTION);
    await found('an answer of the model, whose tokens are white space too');
    await shared.newChat();
    await shared.answerWith((id) => withoutScorer(id, { text, events: [flagOf(text), flaggedStep(text)] }));
    await found('before the first question');
    for (const [scheme, width, height] of [
      ['light', 1280, 850],
      ['dark', 1280, 850],
      ['light', 375, 720],
      ['light', 640, 425], // as at 200 %
      ['dark', 720, 375],
    ] as const) {
      await page.emulateMedia({ colorScheme: scheme });
      await page.setViewportSize({ width, height });
      const state = `${scheme}, ${width} × ${height}`;
      for (const view of ['plain', 'formatted']) {
        await shared.set({ view });
        await shared.answered(QUESTION);
        await tokensOf(shared.answers.last()).last().hover();
        await found(`${state}, ${view}`);
      }
      await shared.openOptions();
      await found(`${state}, options`);
      await shared.closeOptions();
      for (const [button, name] of [
        ['#help', 'Reading an answer'],
        ['#chats', 'Chats'],
      ] as const) {
        await page.locator(button).click();
        await page.getByRole('dialog', { name }).waitFor();
        await found(`${state}, ${name}`);
        await page.keyboard.press('Escape');
      }
    }
  });

  it('asks for a key where the server wants one, and gives it for a ticket', async () => {
    const { page } = shared;
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
    const dialog = page.getByRole('dialog', { name: 'API key' });
    for (const [key, words] of [
      ['wrong', 'asks for an API key'],
      ['right', 'does not accept'],
    ] as const) {
      await dialog.getByText(words).waitFor();
      await page.locator('#key').fill(key);
      await page.keyboard.press('Enter');
    }
    await shared.ready();
    await dialog.waitFor({ state: 'detached' });
    expect(keys).toEqual(['Bearer right']);
    expect(urls).toEqual(['?ticket=one-time']);
    const stored = await page.evaluate(() => [Object.values(sessionStorage), Object.keys(localStorage)]);
    expect(stored[0]).toEqual(['right']);
    expect(stored[1]?.sort()).toEqual(['flinch.settings']);
    await page.unrouteAll();
    // The browser reports each refusal by itself.
    shared.problems.splice(
      0,
      shared.problems.length,
      ...shared.problems.filter((each) => !each.includes('401')),
    );
  });
});

describe.skipIf(!executablePath)('the page under a policy that locks the guard', () => {
  const gateway = useGateway(undefined, {
    settings: { guard: { name: 'house', defaults: { action: 'rollback', rate: 0.05 }, locked: 'all' } },
  });
  const shared = usePage(executablePath, () => gateway.url);

  it('shows each field with its value, and who locks it', async () => {
    const { page } = shared;
    await shared.openOptions();
    for (const [id, value] of [
      ['guard-action', 'rollback'],
      ['guard-per', 'step'],
    ] as const) {
      const control = page.locator(`#${id}`);
      expect(await control.isDisabled()).toBe(true);
      expect(await control.locator('option').first().textContent()).toBe(value);
    }
    expect(await page.locator('#guard-rate').getAttribute('placeholder')).toBe('5');
    expect(await page.locator('#guard-action-hint').textContent()).toBe('Locked by the policy house.');
    await shared.picture('locked');
    await shared.closeOptions();
    await shared.answered(SHORT);
  });

  it('says beside the field what the server refuses', async () => {
    const { page } = shared;
    // A page that was loaded before the operator locked it.
    await shared.offer(model('reasoner', { methods: ['nll'] }));
    await shared.set({ 'guard-action': 'stop' });
    const answer = await shared.ask(SHORT);
    await shared.ended(answer, 'failed');
    await shared.openOptions();
    expect(await page.locator('#guard-action-problem').textContent()).toContain('locked');
  });
});
