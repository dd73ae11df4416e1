import type { FinishReason, Method } from './protocol.js';

export const METHOD_WORDS: Readonly<Record<Method, { name: string; noun: string; meaning: string }>> = {
  adversarial: {
    name: 'Adversarial',
    noun: 'adversarial score',
    meaning:
      'how far the token’s log-probability falls when the text before it is nudged in the worst direction',
  },
  nll: { name: 'NLL', noun: 'NLL', meaning: 'negative log-probability of the token, in nats' },
  entropy: {
    name: 'Entropy',
    noun: 'entropy',
    meaning: 'spread of the distribution the token was drawn from, in nats',
  },
  margin: {
    name: 'Margin',
    noun: 'margin',
    meaning: '1 minus the token’s lead over the best other token, 0 to 2',
  },
};

export const FINISH_WORDS: Readonly<Record<FinishReason, string>> = {
  stop: 'finished',
  length: 'cut off at the length limit',
  content_filter: 'stopped by the guard at a doubtful step',
  cancelled: 'stopped by you',
};

/** Three significant digits; an exponent only where the zeros would have to be counted. */
export function formatScore(value: number): string {
  if (value === 0) return '0';
  const text = Math.abs(value) < 1e-4 ? value.toExponential(1) : value.toPrecision(3);
  return text.replaceAll('-', '−');
}

/** A probability in percent, with the digits that a small perturbation moves. */
export const formatProbability = (value: number): string => `${(value * 100).toFixed(2)} %`;

export const countTokens = (count: number): string => `${count} ${count === 1 ? 'token' : 'tokens'}`;

const MARKS: Readonly<Record<string, string>> = { ' ': '␣', '\n': '↵', '\t': '⇥', '\r': '␍' };

/** The text of a token with its whitespace to be seen. */
export const visibleText = (text: string): string =>
  text === '' ? '(part of a character)' : text.replace(/\s/g, (space) => MARKS[space] ?? '␣');

/** An error as a person should read it: what it means for them first, then what the server said. */
export function describeError(message: string, code: string | null): string {
  const hint = code === null ? undefined : HINTS[code];
  return hint ? `${hint} (${message})` : message;
}

const HINTS: Readonly<Record<string, string>> = {
  overloaded: 'The model is busy with as many answers as it can write at once. Try again in a moment.',
  too_many_generations: 'Too many answers are being written at once on this page.',
  context_length_exceeded: 'The question is too long for this model.',
  engine_crashed:
    'The model stopped unexpectedly and the rest of this answer is lost. Asking again may work.',
  engine_unavailable: 'The model cannot be reached at the moment. Try again in a moment.',
  engine_failed: 'The computation failed and the rest of this answer is lost. Asking again may work.',
};
