import type { RiskLevel } from 'flinch-client';
import type { FinishReason, Method, Part } from 'flinch-client/protocol';

export const METHOD_WORDS: Readonly<Record<Method, { name: string; noun: string; meaning: string }>> = {
  adversarial: {
    name: 'Adv. Pert.',
    noun: 'adversarial score',
    meaning: 'fall of the token’s log-probability when the embeddings before it move in the worst direction',
  },
  random: {
    name: 'Random',
    noun: 'random score',
    meaning: 'variance of the token’s log-probability under random noise on the embeddings before it',
  },
  tokur_eu: {
    name: 'TokUR EU',
    noun: 'epistemic uncertainty',
    meaning: 'disagreement of models with noise on their weights',
  },
  tokur_tu: {
    name: 'TokUR TU',
    noun: 'total uncertainty',
    meaning: 'entropy of the mean prediction of models with noise on their weights',
  },
  tokur_au: {
    name: 'TokUR AU',
    noun: 'aleatoric uncertainty',
    meaning: 'mean entropy of models with noise on their weights',
  },
  nll: { name: 'NLL', noun: 'NLL', meaning: 'negative log-probability of the token, in nats' },
  entropy: {
    name: 'Entropy',
    noun: 'entropy',
    meaning: 'entropy of the distribution that the token was drawn from, in nats',
  },
  margin: {
    name: 'Margin',
    noun: 'margin',
    meaning: '1 minus the token’s lead over the best other token, 0 to 2',
  },
};

/** When the dearer score found more (docs/results/detector.md, docs/guard.md). */
export const ADVERSARIAL_OR_ENTROPY =
  'Adv. Pert. found more wrong steps than entropy in one case, an earlier embedded model at temperature 1 with varied wording (87 against 71 %); elsewhere entropy was as good or better.';

export const PART_WORDS: Readonly<Record<Part, string>> = {
  reasoning: 'reasoning',
  tool_calls: 'tool call',
};

export const METHODS: readonly Method[] = Object.keys(METHOD_WORDS).filter(isMethod);

export function isMethod(name: string): name is Method {
  return Object.hasOwn(METHOD_WORDS, name);
}

/** Whatever has scores has these. */
export const ALWAYS_THERE: Method = 'nll';

const FINISH_WORDS: Readonly<Record<string, string>> = {
  stop: 'finished',
  length: 'cut off at the length limit',
  content_filter: 'stopped by the guard where it was in doubt',
  cancelled: 'stopped by you',
  tool_calls: 'ended with a tool call',
};

/** Why an answer has ended; an upstream may have reasons of its own. */
export const finishWords = (reason: FinishReason): string => FINISH_WORDS[reason] ?? `ended: ${reason}`;

export const LEVEL_WORDS: Readonly<Record<RiskLevel, string>> = {
  unknown: 'unknown',
  calm: 'below 50 %',
  slight: 'from 50 %',
  raised: 'from 80 %',
  high: 'from 95 %',
  flagged: 'flagged',
};

/** Three significant digits; an exponent only where the zeros would have to be counted. */
export function formatScore(value: number): string {
  if (value === 0) return '0';
  const text = Math.abs(value) < 1e-4 ? value.toExponential(1) : value.toPrecision(3);
  return text.replaceAll('-', '−');
}

/** A probability in percent, with the digits that a small perturbation moves. */
export const formatProbability = (value: number): string =>
  `${value < 1e-4 ? formatScore(value * 100) : (value * 100).toFixed(2)} %`;

export const countTokens = (count: number): string => `${count} ${count === 1 ? 'token' : 'tokens'}`;

const MARKS: Readonly<Record<string, string>> = { ' ': '␣', '\n': '↵', '\t': '⇥', '\r': '␍' };

/** The text of a token with its whitespace to be seen. */
export const visibleText = (text: string): string =>
  text === '' ? '(part of a character)' : text.replace(/\s/g, (space) => MARKS[space] ?? '␣');

/** An error for the user: first its meaning, then the message of the server. */
export function describeError({ message, code }: { message: string; code: string }): string {
  const hint = HINTS[code];
  return hint ? `${hint} (${message})` : message;
}

const HINTS: Readonly<Record<string, string>> = {
  overloaded: 'The model is at its limit of concurrent answers. Try again in a moment.',
  too_many_generations: 'This page has too many answers in progress.',
  rate_limited: 'Too many questions in a short time. Try again in a moment.',
  answer_too_large:
    'The answer became too long to be kept, and the rest of it is lost. Ask for a shorter one.',
  context_length_exceeded: 'The question is too long for this model.',
  engine_crashed: 'The model process crashed, and the rest of this answer is lost. Asking again may work.',
  engine_stalled: 'The model process hung, and the rest of this answer is lost. Asking again may work.',
  engine_unavailable: 'The model is not available right now. Try again in a moment.',
  engine_failed: 'The computation failed, and the rest of this answer is lost. Asking again may work.',
  owner_lost: 'The server that wrote this answer is gone, and the rest of it is lost. Ask again.',
  shutting_down: 'The server is shutting down.',
  connection_lost: 'The connection was lost, and the rest of this answer with it.',
  connection_closed: 'The server closed the connection.',
  not_recovered:
    'The server no longer has the rest of this answer: it was started anew, or the connection was lost for too long.',
  taken_over: 'Another page has taken over this answer.',
  events_lost: 'Part of the answer was lost in transit.',
  protocol_error: 'The server sent invalid data, so this answer cannot be trusted.',
};

/** A message of the server, which begins small and ends without a stop. */
export const sentence = (words: string): string => `${words.charAt(0).toUpperCase()}${words.slice(1)}.`;
