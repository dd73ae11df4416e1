import type { FlinchDataParts, FlinchStep } from 'flinch-ai-sdk';
import { FlaggedText, type MessagePart, type ScoredText, useFlinch } from 'flinch-react';
import { createElement, type ReactNode } from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { describe, expect, it } from 'vitest';
import { VERDICT } from '../fake-server.js';

const verdict = { ...VERDICT, risk: 0.5, rate: 0.1 };

function step(text: string, fields: Partial<FlinchStep> = {}): FlinchStep {
  const tokens = text.split(/(?<= )/).map((each) => ({ text: each, risk: 0 }));
  const rated = { flagged: false, risk: 0.2, per: 'step', rate: 0.1, method: 'nll' } as const;
  return { answer: 'a', step: 0, text, ...rated, tokens, struck: [], ...fields };
}

const begin: MessagePart = { type: 'step-start' };
const written = (text: string): MessagePart => ({ type: 'text', text });
const settled = (data: FlinchDataParts['flinch-step']): MessagePart => ({ type: 'data-flinch-step', data });
const judged = (answer: string, fields: object = {}): MessagePart => ({
  type: 'data-flinch-verdict',
  data: { answer, ...verdict, ...fields },
});

/** What the hook returns for a message. */
function textsOf(...parts: readonly MessagePart[]): readonly (ScoredText | null)[] {
  let texts: readonly (ScoredText | null)[] = [];
  const Message = (): ReactNode => {
    texts = useFlinch({ parts });
    return null;
  };
  renderToStaticMarkup(createElement(Message));
  return texts;
}

const html = (text: ScoredText): string => renderToStaticMarkup(createElement(FlaggedText, text));

describe('useFlinch', () => {
  it('has the steps and the verdict of a text, and nothing of other parts', () => {
    const one = step('One. ');
    const parts = [begin, written('One. Two'), settled(one), judged('a')];
    const [, text, ...others] = textsOf(...parts);
    expect(text).toMatchObject({ text: 'One. Two', steps: [one], verdict });
    expect(others).toEqual([null, null]);
  });

  it('has no verdict before it has come', () => {
    expect(textsOf(begin, written('One'))[1]).toEqual({ text: 'One', steps: [], verdict: null });
  });

  it('tells the answers of several calls apart', () => {
    const [, first, , , second] = textsOf(
      ...[begin, written('One. '), { type: 'tool-weather' }, begin, written('Two. ')],
      ...[
        settled(step('One. ')),
        judged('a'),
        settled(step('Two. ', { answer: 'b' })),
        judged('b', { flagged: true }),
      ],
    );
    expect(first).toMatchObject({ steps: [{ text: 'One. ' }], verdict: { flagged: false } });
    expect(second).toMatchObject({ steps: [{ text: 'Two. ' }], verdict: { flagged: true } });
  });

  it('shares the steps of a call out between its texts', () => {
    const parts = [settled(step('One. ')), settled(step('Two. ', { step: 1 }))];
    const [, , , first, , second] = textsOf(
      begin,
      ...parts,
      written('One. '),
      { type: 'reasoning' },
      written('Two. '),
    );
    expect([first, second]).toMatchObject([{ steps: [{ step: 0 }] }, { steps: [{ step: 1 }] }]);
  });

  it('takes no steps that are not in the text: of reasoning, of another text, or ahead of it', () => {
    const reasoning = settled(step('Hm. ', { part: 'reasoning' }));
    const ahead = settled(step('Two. ', { step: 1 }));
    const text = textsOf(begin, written('One. Tw'), reasoning, settled(step('One. ')), ahead)[1];
    expect(text?.steps.map(({ text }) => text)).toEqual(['One. ']);
    expect(textsOf(begin, written('Other.'), settled(step('One. ')))[1]?.steps).toEqual([]);
  });
});

describe('FlaggedText', () => {
  it('shows the text as it is, settled or not', () => {
    const steps = [step('One is <b>. '), step('Two.\n', { step: 1, risk: null, flagged: null })];
    const markup = html({ text: 'One is <b>. Two.\nThree', steps, verdict: null });
    const shown = markup.replace(/<p .*/, '').replace(/<[^>]*>/g, '');
    expect(shown).toBe('One is &lt;b&gt;. Two.\nThree');
  });

  it('colours tokens by risk, and marks those beyond the threshold', () => {
    const tokens = [0.1, 0.7, 0.95, null].map((risk, i) => ({ text: `${i}`, risk }));
    const markup = html({ text: '0123', steps: [step('0123', { tokens })], verdict });
    const heats = [...markup.matchAll(/var\(--flinch-heat\) (\d+)%/g)].map(([, heat]) => Number(heat));
    expect(heats).toHaveLength(2);
    expect(heats[0]).toBeLessThan(heats[1]!);
    expect(heats[1]).toBe(66);
    expect(
      markup.match(/data-conspicuous="true"[^>]*title="Token higher than 95\.0 % of ordinary tokens">2</),
    ).not.toBeNull();
    expect(markup.match(/data-conspicuous/g)).toHaveLength(1);
  });

  it('says in words what is flagged, and what was replaced', () => {
    const steps = [step('Right. ', { flagged: true, risk: 0.97, struck: [' Wrong.\n'] })];
    const markup = html({ text: 'Right. ', steps, verdict: { ...verdict, flagged: true, risk: 0.96 } });
    expect(markup).toMatch(/<del[^>]*><span class="flinch-hidden">Replaced: <\/span>Wrong\.<\/del>/);
    expect(markup).toMatch(
      /<mark[^>]*data-level="flagged"[^>]*><span [^>]*>Flagged step, higher than 97\.0 % of ordinary steps: </,
    );
    expect(markup).toContain('<b>Check this.</b> The answer as a whole is unusual, and so is step 1.');
  });

  it.each([
    [null, 'Not judged yet.'],
    [{ flagged: null, risk: null, reason: 'no_verdict' }, 'Not judged.</b> It ended without a verdict.'],
    [{ flagged: null, risk: null, reason: 'no_flinch' }, 'Not judged.</b> The server is not flinch.'],
    [
      { ...verdict, advice: null, flagged: null, reason: 'unscored_tokens' },
      'Not judged.</b> Some tokens have no score.',
    ],
  ] as const)('never calls an answer clean that is not judged: %j', (given, words) => {
    const markup = html({ text: 'One', steps: [], verdict: given });
    expect(markup).toContain(`role="status" data-check="unknown"`);
    expect(markup).toContain(words);
    expect(markup).not.toMatch(/✓|ordinary/);
  });

  it('says that an answer is ordinary, and with a flagged step that it is worth checking', () => {
    const markup = html({ text: 'One', steps: [], verdict });
    expect(markup).toMatch(/data-check="false".*✓.*Looks ordinary\.<\/b> It can still be wrong\./);
    const steps = [step('One', { flagged: true, risk: 0.97 })];
    const flagged = html({ text: 'One', steps, verdict: { ...verdict, advice: 'check' } });
    expect(flagged).toMatch(/data-check="true".*⚑.*Worth checking: step 1\./);
  });
});
