import type { GenerationEvent } from 'flinch-client/protocol';
import { describe, expect, it } from 'vitest';
import { answerHtml } from '#web/answer/answer-html.js';
import type { RecordedEvent } from '#web/chats/recording.js';
import {
  created,
  done,
  type EventDraft,
  numbered,
  play,
  rolledBack,
  score,
  settled,
  token,
} from '../client/fake-server.js';

describe('an answer as HTML', () => {
  it('has its tokens, with what is known of each', () => {
    const answer = play(
      numbered([created(), token(0, '**So**'), token(1, ' 4'), score(0, 0.7), score(1, 0.35)]),
    );
    const html = answerHtml(answer, 'nll');
    expect(html).toMatch(/^<p><strong><span class="flinch-token" data-index="0"[^>]*>So<\/span><\/strong>/);
    expect(html).toMatch(/data-index="1" data-score="scored" data-strength="0\.500"> 4</);
  });

  it('has text that was struck out before what replaced it', () => {
    expect(answerHtml(play(rolledBack()), 'nll')).toMatch(
      /<del [^>]*>4<\/del><span [^>]*data-index="1"[^>]*> 5</,
    );
  });

  const timed = (events: readonly GenerationEvent[]): readonly RecordedEvent[] =>
    events.map((event, at) => ({ atMs: 4000 * at, event }));
  const htmlOf = (drafts: readonly EventDraft[]): string =>
    answerHtml(play(numbered(drafts)), 'nll', timed(numbered(drafts)));
  const folded = (words: string, html: string) =>
    `<details data-part="reasoning"><summary>${words}</summary><p class="verbatim">${html}</p></details>`;
  const unmarked = (html: string) => html.replaceAll(/<\/?span[^>]*>/g, '');

  it('folds reasoning, which is as it was written, with its time and its doubtful steps', () => {
    const part = { part: 'reasoning', part_text: '<think>\n*a*' } as const;
    const thinking = [created(), token(0, '', part), score(0, 2), settled({ to: 1, part: 'reasoning' })];
    const html = '&lt;think&gt;\n*a*';
    expect(unmarked(htmlOf(thinking))).toBe(folded('Thinking, 1 doubtful step', html));
    const after = htmlOf([...thinking, token(1, '*b*')]);
    expect(unmarked(after)).toBe(`${folded('Thought for 12 s, 1 doubtful step', html)}<p><em>b</em></p>\n`);
    expect(after).toMatch(/<span [^>]*data-index="0"[^>]*data-strength="1.000">&lt;think&gt;/);
    const unscored = [created(), token(0, '', part), done];
    expect(unmarked(htmlOf(unscored))).toBe(folded('Thought, not scored', html));
  });

  it.each([
    ['<think>\n*a*\n</think>\n\n*b*', '&lt;think&gt;\n*a*\n&lt;/think&gt;'],
    ['*a*\n</think>\n\n*b*', '*a*\n&lt;/think&gt;'], // the first mark was in the prompt
    ['<think>*a* <img src=x></think>*b*', '&lt;think&gt;*a* &lt;img src=x&gt;&lt;/think&gt;'],
  ])('folds the thoughts of %j, whatever its tokens', (text, thoughts) => {
    for (const size of [1, 3, 8]) {
      const pieces = text.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? [];
      const html = htmlOf([created(), ...pieces.map((piece, i) => token(i, piece)), score(0, 1)]);
      expect(unmarked(html)).toMatch(/^<details .*Thought for \d+ s<.*<\/details><p><em>b<\/em><\/p>\n$/s);
      expect(unmarked(html)).toContain(thoughts);
      expect(html).toContain('data-index="0"');
    }
  });

  it('takes no mention of a mark for thoughts', () => {
    for (const text of ['The mark `</think>` ends it.', 'So <think> begins it.\n</think>\n'])
      expect(htmlOf([created(), token(0, text)])).not.toContain('<details');
  });

  it('shows reasoning that came without tokens, as not scored, before the text', () => {
    const beside = (delta: object): EventDraft => ({
      type: 'upstream.delta',
      at: 0,
      chunk: { choices: [{ index: 0, delta }] },
      unscored: ['reasoning'],
    });
    const thinking = [
      created(),
      beside({ reasoning: '*a* <b', reasoning_content: '*a* <b' }),
      beside({ content: [{ type: 'thinking', thinking: [{ type: 'text', text: '> c' }] }] }),
    ];
    expect(htmlOf(thinking)).toBe(folded('Thinking, not scored', '*a* &lt;b&gt; c'));
    expect(unmarked(htmlOf([...thinking, token(0, 'So')]))).toBe(
      `${folded('Thought for 8 s, not scored', '*a* &lt;b&gt; c')}<p>So</p>\n`,
    );
    const escalated = { type: 'generation.escalated', to: 'large', failed: null, risk: 0.99 } as const;
    expect(htmlOf([...thinking, escalated])).toBe('');
  });
});
