import { type Answer, formatRisk, isOver, type RiskLevel } from 'flinch-client';
import type { Method } from 'flinch-client/protocol';
import { element, setText } from './dom.js';
import { type Scale, skippedTokens, strongest } from './queries.js';
import { formatScore, LEVEL_WORDS } from './words.js';

const LEVELS: readonly RiskLevel[] = ['calm', 'slight', 'raised', 'high', 'flagged'];

const RANK_MEANING =
  'A rank is the share of ordinary tokens or steps that score lower. It is not the probability of an error.';

/** Meaning of the colours and of the lines under the text. */
export class Legend {
  readonly element = element('div', { class: 'legend' });
  readonly #bottom = element('span');
  readonly #top = element('span', { class: 'legend-top' });
  readonly #skipped = element('span', { class: 'legend-skipped', hidden: '' }, 'skipped: certain');
  readonly #note = element('p', { class: 'legend-note', hidden: '' }, RANK_MEANING);
  readonly #steps = element('p', { class: 'legend-steps', hidden: '' }, 'Rank of a step:');

  constructor() {
    const missing = element('span', { class: 'legend-missing' }, 'no score');
    const ramp = element('span', { class: 'legend-ramp' });
    this.element.append(
      element('p', { class: 'legend-tokens' }, this.#bottom, ramp, this.#top, missing, this.#skipped),
      this.#steps,
      this.#note,
    );
    for (const level of LEVELS) {
      const sample = element('span', { class: 'legend-level', 'data-level': level }, LEVEL_WORDS[level]);
      this.#steps.append(sample);
    }
  }

  update(answer: Answer, method: Method, scale: Scale): void {
    setText(this.#bottom, scale.by === 'risk' ? 'Rank of a token: 0' : '0');
    setText(this.#top, topWords(answer, method, scale));
    this.#skipped.hidden = skippedTokens(answer, method) === 0;
    this.#steps.hidden = answer.flags.length === 0 && answer.steps.every(({ risk }) => risk === null);
    this.#note.hidden = scale.by !== 'risk' && this.#steps.hidden;
  }
}

function topWords(answer: Answer, method: Method, { by, full }: Scale): string {
  if (by === 'risk') return `${formatRisk(full)} (threshold)`;
  const top = strongest(answer, method)?.score ?? null;
  if (top === null) return 'nothing scored yet';
  const so = isOver(answer) ? 'strongest in this answer' : 'strongest so far in this answer';
  return top < full ? `${formatScore(full)} (${so}: ${formatScore(top)})` : `${formatScore(top)} (${so})`;
}
