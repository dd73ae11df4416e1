import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { renderAnswers } from '#bench/report/answers-page.js';
import { buildReport } from '#bench/report/build.js';
import { html } from '#bench/report/html.js';
import { renderPage } from '#bench/report/page.js';
import { readPaper } from '#bench/report/paper/paper-tables.js';
import {
  hostileAnswer,
  hostileEvaluation,
  MADE_UP_ANSWER,
  madeUpEvaluation,
} from '../../support/made-up-evaluation.js';
import { misnested, namesOfAttributes, namesOfElements } from '../../support/markup.js';

const reportOf = (evaluation: ReturnType<typeof madeUpEvaluation>) =>
  renderPage(buildReport([{ label: evaluation.model.name, folder: 'x', evaluation }], readPaper()));
const answersOf = (answer: typeof MADE_UP_ANSWER) =>
  renderAnswers({ title: answer.question, folder: answer.id, score: answer.group, answers: [answer] });

describe('texts of models', () => {
  it.each([
    ['report.html', reportOf(hostileEvaluation()), reportOf(madeUpEvaluation())],
    ['answers.html', answersOf(hostileAnswer()), answersOf(MADE_UP_ANSWER)],
  ])('never become markup of the page: %s', (_, page, plain) => {
    const scriptless = page.replace(/\/\/<!\[CDATA\[.*?\]\]>/s, '');
    expect(misnested(scriptless)).toBeNull();
    expect(namesOfElements(page)).toEqual(namesOfElements(plain));
    expect([...namesOfAttributes(scriptless)].filter((name) => name.startsWith('on'))).toEqual([]);
    expect(page.includes('&lt;script&gt;document.title = &quot;pwned&quot;&lt;/script&gt;')).toBe(true);
    const unseen = /\p{Cc}|[\u202a-\u202e\u2066-\u2069\ufffe\uffff]/u.exec(page.replace(/[\n\t]/g, ''));
    expect(unseen?.[0]).toBeUndefined();
    expect(/\p{Surrogate}/u.exec(page)).toBeNull();
  });

  it('are escaped in elements and attributes, whatever they are', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const { markup } = html`<p title="${text}">${text}</p>`;
        expect(misnested(markup)).toBeNull();
        expect(namesOfElements(markup)).toEqual(new Set(['p']));
      }),
    );
  });
});
