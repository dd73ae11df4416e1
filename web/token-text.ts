import { type Answer, isOver, rankWords, riskLevel, type Token } from 'flinch-client';
import type { Method } from 'flinch-client/protocol';
import { element } from './dom.js';
import { riskOf, rollbackAt, type Scale, scoreOf, scoreState, stepAt } from './queries.js';
import { Strikes } from './struck-text.js';
import { TOKEN_CARD_ID } from './token-card.js';
import { formatScore, METHOD_WORDS, PART_WORDS, visibleText } from './words.js';

/**
 * The answer as text, a span per token. One span is in the tab order; arrows, Home and End move from there
 * (a roving tabindex), so that a keyboard reaches every token and Tab still leaves the text.
 */
export class TokenText {
  readonly element = element('div', {
    class: 'tokens',
    role: 'listbox',
    'aria-orientation': 'horizontal',
    'aria-label': 'Answer, token by token. The arrow keys move between tokens.',
  });
  readonly #spans: HTMLSpanElement[] = [];
  /** State that each span shows, so that only changes are drawn. */
  readonly #shown: string[] = [];
  readonly #strikes = new Strikes(this.element);
  #reachable = 0;

  /** `point` hears which token the pointer is over or the keyboard on, and null when neither is. */
  constructor(point: (index: number | null) => void) {
    const focused = () => indexOf(this.element.querySelector(':focus'));
    this.element.addEventListener('pointerover', ({ target }) => point(indexOf(target) ?? focused()));
    this.element.addEventListener('pointerleave', () => point(focused()));
    this.element.addEventListener('focusin', ({ target }) => {
      const index = indexOf(target);
      if (index !== null) this.#reach(index);
      point(index);
    });
    this.element.addEventListener('focusout', () => point(null));
    this.element.addEventListener('keydown', (event) => {
      if (event.key === 'Escape') {
        point(null);
        event.stopPropagation(); // it is the card that is meant, not the answer
      }
      const index = indexOf(event.target);
      const goal = index === null ? null : this.#goal(event.key, index);
      if (goal === null) return;
      event.preventDefault();
      this.#spans[goal]?.focus();
    });
  }

  update(answer: Answer, method: Method, scale: Scale): void {
    const { tokens } = answer;
    for (const span of this.#spans.splice(tokens.length)) span.remove();
    this.#shown.length = tokens.length;
    if (this.#reachable >= tokens.length) this.#reach(Math.max(0, tokens.length - 1));
    for (const token of tokens) {
      const look = lookOf(answer, token, method, scale);
      const shown = JSON.stringify(look);
      if (shown === this.#shown[token.index]) continue;
      this.#shown[token.index] = shown;
      show(this.#spans[token.index] ?? this.#add(token.index), look);
    }
    this.#strikes.update(answer, this.#spans);
  }

  highlight(index: number | null): void {
    for (const span of this.element.querySelectorAll('.active')) {
      span.classList.remove('active');
      span.setAttribute('aria-selected', 'false');
      span.removeAttribute('aria-describedby');
    }
    const span = index === null ? undefined : this.#spans[index];
    span?.classList.add('active');
    span?.setAttribute('aria-selected', 'true');
    span?.setAttribute('aria-describedby', TOKEN_CARD_ID);
  }

  /** Rectangle of a token on the screen: of its first piece if it runs over the end of a line. */
  place(index: number): DOMRect {
    const span = this.#spans[index] ?? this.element;
    return span.getClientRects()[0] ?? span.getBoundingClientRect();
  }

  #add(index: number): HTMLSpanElement {
    const span = element('span', { class: 'token', role: 'option', 'aria-selected': 'false' });
    span.dataset.index = String(index);
    span.tabIndex = index === this.#reachable ? 0 : -1;
    this.#spans.push(span);
    this.element.append(span);
    return span;
  }

  #reach(index: number): void {
    const before = this.#spans[this.#reachable];
    if (before) before.tabIndex = -1;
    const now = this.#spans[index];
    if (now) now.tabIndex = 0;
    this.#reachable = index;
  }

  #goal(key: string, index: number): number | null {
    const last = this.#spans.length - 1;
    if (key === 'ArrowLeft') return Math.max(0, index - 1);
    if (key === 'ArrowRight') return Math.min(last, index + 1);
    if (key === 'Home') return 0;
    if (key === 'End') return last;
    if (key === 'ArrowUp') return this.#onNextLine(index, -1);
    if (key === 'ArrowDown') return this.#onNextLine(index, 1);
    return null;
  }

  /** The token nearest in x on the line above (−1) or below (1); the same token if there is no such line. */
  #onNextLine(index: number, direction: 1 | -1): number {
    const { left, top } = this.place(index);
    let nearest = index;
    let line: number | null = null;
    let distance = Number.POSITIVE_INFINITY;
    for (let other = index + direction; this.#spans[other]; other += direction) {
      const place = this.place(other);
      if (Math.abs(place.top - top) < place.height / 2) continue;
      line ??= place.top;
      if (Math.abs(place.top - line) >= place.height / 2) break;
      if (Math.abs(place.left - left) >= distance) continue;
      distance = Math.abs(place.left - left);
      nearest = other;
    }
    return nearest;
  }
}

/** All that the span of a token shows. */
function lookOf(answer: Answer, token: Token, method: Method, scale: Scale) {
  const { index, part = null, inserted, spike } = token;
  const text = token.partText ?? token.text;
  const step = stepAt(answer, index);
  const drawing = answer.rollbacks.at(-1);
  const goes = drawing?.outcome === null && index >= drawing.from && step?.step === drawing.step;
  return {
    text,
    part,
    score: scoreState(token, method),
    strength: scale.of(token).toFixed(3),
    level: step ? riskLevel(step.risk, step.flagged) : '',
    flagMark: step?.flagged === true && step.from === index,
    spike,
    inserted,
    replaced: rollbackAt(answer, index) !== null,
    goes: goes && !isOver(answer),
    label: labelOf(token, method, step),
  };
}

type Look = ReturnType<typeof lookOf>;

function labelOf(token: Token, method: Method, step: ReturnType<typeof stepAt>): string {
  const score = scoreOf(token, method);
  const risk = riskOf(token, method);
  const without = scoreState(token, method) === 'skipped' ? 'skipped' : 'no score';
  const parts = [visibleText(token.partText ?? token.text)];
  parts.push(score === null ? without : `${METHOD_WORDS[method].noun} ${formatScore(score)}`);
  if (risk !== null) parts.push(rankWords(risk, 'token'));
  if (step?.flagged) parts.push('in a flagged step');
  if (token.part) parts.push(PART_WORDS[token.part]);
  if (token.inserted) parts.push('inserted by the guard');
  return parts.join(', ');
}

/** Draws a span: it may have shown another token, which was retracted since the last frame. */
function show(span: HTMLSpanElement, look: Look): void {
  const { text, part, score, strength, level, flagMark, spike, inserted, replaced, goes, label } = look;
  if (span.textContent !== text) span.textContent = text;
  if (text === '') span.dataset.mark = 'part';
  else if (text.startsWith('\n')) span.dataset.mark = 'newline';
  else delete span.dataset.mark;
  if (part) span.dataset.part = part;
  else delete span.dataset.part;
  span.dataset.score = score;
  span.dataset.level = level;
  span.style.setProperty('--strength', strength);
  const classes = { flagged: level === 'flagged', 'flag-mark': flagMark, spike, inserted, replaced, goes };
  for (const [name, on] of Object.entries(classes)) span.classList.toggle(name, on);
  span.setAttribute('aria-label', label);
}

function indexOf(target: EventTarget | null): number | null {
  const span = target instanceof Element ? target.closest('.token') : null;
  return span instanceof HTMLElement && span.dataset.index !== undefined ? Number(span.dataset.index) : null;
}
