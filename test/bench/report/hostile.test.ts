import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { buildReport } from '#bench/report/build.js';
import { html } from '#bench/report/html.js';
import { buildAnswers } from '#bench/report/look-at.js';
import { readPaper } from '#bench/report/paper/paper-tables.js';
import { renderReport } from '#bench/report/report.js';
import { hostileEvaluation, madeUpEvaluation } from '../../support/made-up-evaluation.js';
import { misnested, namesOfAttributes, namesOfElements } from '../../support/markup.js';

const filesOf = (evaluation: ReturnType<typeof madeUpEvaluation>) => {
  const runs = [{ label: evaluation.model.name, folder: 'x', evaluation }];
  return renderReport(buildReport(runs, readPaper()), buildAnswers(runs));
};

describe('texts of models', () => {
  it.each(['report.html', 'answers.html'])('never become markup of the page: %s', (name) => {
    const page = filesOf(hostileEvaluation()).get(name)!;
    const plain = filesOf(madeUpEvaluation()).get(name)!;
    expect(misnested(page)).toBeNull();
    expect(namesOfElements(page)).toEqual(namesOfElements(plain));
    expect([...namesOfAttributes(page)].filter((name) => name.startsWith('on'))).toEqual([]);
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
