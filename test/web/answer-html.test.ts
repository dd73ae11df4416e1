import { describe, expect, it } from 'vitest';
import { answerHtml } from '#web/answer/answer-html.js';
import { created, numbered, play, rolledBack, score, token } from '../client/fake-server.js';

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

  it('shows reasoning as it was written, while there is no text and after', () => {
    const part = { part: 'reasoning', part_text: '<think>\n*a*' } as const;
    const thinking = [created(), token(0, '', part)];
    const reasoning =
      /^<p class="verbatim" data-part="reasoning"><span [^>]*data-index="0"[^>]*>&lt;think&gt;\n\*a\*<\/span><\/p>/;
    expect(answerHtml(play(numbered(thinking)), 'nll')).toMatch(reasoning);
    const html = answerHtml(play(numbered([...thinking, token(1, '*b*')])), 'nll');
    expect(html).toMatch(reasoning);
    expect(html).toContain('<em>');
  });
});
