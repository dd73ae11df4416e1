import {
  type Advice,
  type Answer,
  adviceWords,
  isOver,
  isWritten,
  rankWords,
  ratedPer,
  stepsWords,
} from 'flinch-client';
import type { Method } from 'flinch-client/protocol';
import type { RecordedEvent } from '../chats/recording.js';
import { type Exchange, tokensPerSecond } from '../chats/session.js';
import { countTokens, finishWords, METHOD_WORDS, sentence } from '../words.js';
import { flaggedSteps, lagTokens, methodsOf, unscoredTokens } from './queries.js';

/** What to think of an answer, or how far it is. @param connected whether there is a connection over which it could go on */
export function statusOf({ answer, events, leftOut, model }: Exchange, connected: boolean): Advice {
  const { phase, verdict, finishReason, escalation, vote } = answer;
  const name = answer.model ?? model;
  const flagged = flaggedSteps(answer).map(({ step }) => step);
  if (!isWritten(answer)) {
    const drawing = answer.rollbacks.at(-1);
    const why = flagged.length > 0 ? `Worth checking so far: ${stepsWords(flagged)}.` : '';
    const doing = drawing?.outcome === null ? `Sampling step ${drawing.step + 1} again` : 'Writing';
    if (!connected) return { check: null, head: 'Waiting for the connection', why };
    return { check: null, head: phase === 'waiting' ? `Waiting for ${name}` : doing, why };
  }
  // Scores may fail after the text.
  if (phase === 'failed' && verdict === null) return { check: null, head: 'Failed', why: '' };
  const advice = adviceWords(verdict ?? { flagged: null, risk: null, reason: 'no_verdict' }, flagged);
  const more: string[] = [];
  if (advice.check === false && hasUnusual(answer))
    more.push('Single words are unusual, but no step as a whole.');
  // A verdict that the guard has stopped the answer says so itself.
  if (finishReason !== 'stop' && finishReason !== null && verdict?.reason !== 'stopped')
    more.push(sentence(finishWords(finishReason)));
  if (escalation && escalation.failed !== null)
    more.push(`${escalation.to} did not answer in its place (${escalation.failed}).`);
  else if (escalation)
    more.push(`Written by ${escalation.to} in place of a doubtful answer of ${name}${endWords(events)}.`);
  if (vote) more.push(voteWords(vote, events));
  if (leftOut > 0)
    more.push(
      `The context was full: the oldest ${leftOut === 1 ? 'question was' : `${leftOut} questions were`} left out.`,
    );
  return { ...advice, why: [advice.why, ...more].join(' ') };
}

/** Whether a token has the full colour. */
const hasUnusual = ({ tokens, guard }: Answer): boolean =>
  guard !== null && tokens.some(({ risk }) => (risk[guard.method] ?? 0) >= 1 - guard.rate);

export const inOneLine = ({ head, why }: Advice): string => `${head}. ${why}`.trim();

function voteWords(
  { answers, agreed, replaced, failed }: NonNullable<Exchange['answer']['vote']>,
  events: Exchange['events'],
): string {
  const on = replaced ? `It replaces a doubtful answer${endWords(events)}. In a vote` : 'In a vote on it';
  const others = answers - agreed;
  const rest = others === 0 ? '' : `, ${others} ${others === 1 ? 'does' : 'do'} not`;
  const agreement =
    agreed === 0
      ? 'no answer says anything that can be compared'
      : `${agreed} of ${answers} answers ${agreed === 1 ? 'says' : 'say'} this${rest}`;
  return `${on}, ${agreement}.${failed === null ? '' : ` One was not written (${failed}).`}`;
}

/** How an answer ended that another one took the place of, if it was shown. */
function endWords(events: readonly RecordedEvent[]): string {
  const texts: string[] = [];
  for (const { event } of events) {
    if (event.type === 'generation.voted' || event.type === 'generation.escalated') break;
    if (event.type === 'token.delta') texts[event.index] = event.text;
    if (event.type === 'token.retracted') texts.length = event.from;
  }
  const end = texts.join('').trim().split('\n').at(-1) ?? '';
  return end === '' ? '' : `, which ended “${end}”`;
}

/** The numbers behind it, a line each; last what the server has to say of the scores. */
export function detailsOf({ answer, events, model }: Exchange, method: Method): readonly string[] {
  const { guard, verdict } = answer;
  const rate = isWritten(answer) ? tokensPerSecond(events) : null;
  const threshold =
    guard && guard.rate > 0 ? `, flagged from ${Number((100 * (1 - guard.rate)).toFixed(2))} %` : '';
  const judge = guard?.method ?? method;
  const late = lagTokens(answer, judge);
  const unscored = methodsOf(answer).length > 0 ? unscoredTokens(answer, judge) : 0;
  const speed = rate === null ? [] : [`${rate < 10 ? rate.toFixed(1) : Math.round(rate)} tokens/s`];
  return [
    [answer.model ?? model, countTokens(answer.tokens.length), ...speed].join(' · '),
    ...flaggedSteps(answer).flatMap(({ step, risk }) =>
      risk === null ? [] : [`Step ${step + 1}: ${rankWords(risk, ratedPer(guard?.per))}${threshold}`],
    ),
    ...(typeof verdict?.risk === 'number' ? [`Answer: ${rankWords(verdict.risk, 'whole')}${threshold}`] : []),
    ...(late > 0 ? [`${countTokens(late)} not scored: scoring was slower than writing`] : []),
    ...(unscored > 0
      ? [
          `${countTokens(unscored)} ${isWritten(answer) ? 'without a score' : 'not scored yet'} (${METHOD_WORDS[judge].name})`,
        ]
      : []),
    ...laterWords(answer),
    ...(guard?.warnings ?? []).map(sentence),
  ];
}

/** Scores that follow others of their tokens. */
function laterWords(answer: Answer): string[] {
  const pending = answer.tokens.flatMap((token) => token.pending);
  const verb = isOver(answer) ? 'was not computed' : 'follows';
  return [...new Set(pending)].map((method) => {
    const count = pending.filter((each) => each === method).length;
    return `${METHOD_WORDS[method].name} of ${countTokens(count)} ${verb}`;
  });
}
