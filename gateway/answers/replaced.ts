import { concat, concatMap, defer, EMPTY, from, Observable, of } from 'rxjs';
import type { Budget } from '../../src/risk/budget.js';
import type { GuardEvent, Verdict } from '../../src/stream/events.js';
import type { FlowGate } from '../../src/stream/flow-gate.js';
import { paced } from '../../src/stream/paced.js';
import { isProbability } from '../../src/uncertainty/method-names.js';
import { ApiError } from '../errors/api-error.js';
import type { Policies } from '../policy/policies.js';
import { guardSchema } from '../requests/guard-limits.js';
import { voted } from './answer-vote.js';
import type { AnswerRequest, Asked } from './asked.js';
import { escalated } from './escalate.js';
import type { KeptAnswer, KeptAnswers } from './kept-answers.js';
import type { PerClient } from './per-client.js';
import { saidBy } from './said-by.js';
import type { Answer, GuardInForce } from './served-model.js';
import { callsTool, eventsOf, type OwnAnswer, textOf } from './whole-answer.js';

/** Of further answers to requests without a temperature, or with 0 (as in arXiv 2203.11171). */
const VOTE_TEMPERATURE = 0.7;

export interface Replaced {
  /** Counts answers that wait for whether they are replaced. */
  readonly kept: KeptAnswers;
  /** Answers that were replaced so far, of each client. */
  readonly budgets: PerClient<Budget>;
  /** Called when a flagged answer makes a model ask another one: with the error for which that one does not answer. */
  readonly escalated: (model: string, to: string, error: unknown, asked: Asked) => void;
  /** Called when answers have voted: whether another one is returned, with the error of one that was not written. */
  readonly voted: (model: string, isReplaced: boolean, error: unknown, asked: Asked) => void;
}

export interface ReplacedBy extends Replaced {
  readonly policies: Policies;
  /** An answer of the same model. */
  readonly written: (asked: Asked) => Promise<Answer>;
  /** The answer of another model. */
  readonly escalate: (to: string, request: AnswerRequest) => Promise<Answer>;
}

/** What the client is told after an answer that is replaced. */
type Rest = (own: OwnAnswer, gate: FlowGate) => Observable<GuardEvent>;

interface ReplaceOptions extends Required<Pick<Asked, 'isReplaced'>> {
  readonly held: boolean;
  readonly kept: KeptAnswer;
  readonly rest: Rest;
}

/**
 * The answer of a model, and if it is flagged, what takes its place: the answer of another model, or of a vote.
 * @throws ApiError 400 for a model that names no other, and for what another model cannot be asked
 */
export async function replaced(asked: Asked, model: string, by: ReplacedBy): Promise<Answer> {
  const { fields, canRetract } = asked;
  const { guard } = fields;
  const action = guard.action === 'vote' ? 'vote' : 'escalate';
  if ((fields.n ?? 1) !== 1) throw refusal('n', `${action} takes one choice`);
  const held = !canRetract || guard.delivery === 'held';
  const annotating = { ...guard, action: 'annotate', delivery: 'immediate' } as const;
  let replaces: boolean | null = null;
  const isReplaced = (verdict: Verdict): boolean => {
    // A budget counts an answer once.
    replaces ??= decide(verdict);
    return replaces;
  };
  // None of several answers is what the client gets as it comes.
  const first: Asked = {
    ...asked,
    verbatim: false,
    kept: false,
    isReplaced,
    fields: { ...fields, guard: annotating },
  };
  const escalated = action === 'escalate' ? escalation(asked, model, held, by) : null;
  const own = await by.written(first);
  if (!own.guard.enabled) throw refusal('guard.action', `${action}: no answer can be flagged`);
  const rest = escalated ?? vote(first, own.guard, model, by);
  const { budget, method } = own.guard;
  const decide = ({ flagged, score = Number.NEGATIVE_INFINITY }: Verdict): boolean =>
    budget === undefined
      ? flagged === true
      : by.budgets.of(asked.client, JSON.stringify([model, action, method])).takes(budget, score);
  const delivery = held ? 'held' : 'immediate';
  return {
    ...own,
    vocabulary: null, // tokens of several answers, or models: each comes with its texts
    form: 'tokens',
    guard: { ...own.guard, action, delivery },
    start: (gate) =>
      new Observable((subscriber) => {
        const kept = by.kept.open(asked.client, (error) => subscriber.error(error));
        subscriber.add(() => kept.close());
        subscriber.add(unlessReplaced(own, { held, kept, isReplaced, rest }, gate).subscribe(subscriber));
      }),
  };
}

/** The events of an answer, and if it is replaced, what follows. */
export function unlessReplaced(
  own: Pick<Answer, 'start' | 'vocabulary'>,
  { held, kept, isReplaced, rest }: ReplaceOptions,
  gate: FlowGate,
): Observable<GuardEvent> {
  const withheld: GuardEvent[] = [];
  let text = '';
  let calls = false;
  let isHeld = held;
  const events = eventsOf(own, gate).pipe(
    concatMap((event) => {
      text += textOf(event);
      calls ||= callsTool(event);
      if (!isHeld && event.type !== 'generation.done') return of(event);
      withheld.push(event);
      kept.add(event);
      if (event.type !== 'text.done') return EMPTY;
      isHeld = false; // it stays
      return from(withheld.splice(0)).pipe(paced(gate));
    }),
  );
  const others = defer(() => {
    const done = withheld.at(-1);
    if (done?.type !== 'generation.done' || !done.verdict || !isReplaced(done.verdict))
      return from(withheld).pipe(paced(gate));
    return rest({ done, verdict: done.verdict, text, calls, withheld, kept }, gate);
  });
  return concat(events, others);
}

function escalation(asked: Asked, model: string, held: boolean, by: ReplacedBy): Rest {
  const escalation = by.policies.escalationOf(model);
  if (escalation === null) throw refusal('guard.action', `escalate: ${model} names no other model`);
  if (Array.isArray(asked.prompt))
    throw refusal('prompt', 'escalate takes texts, not token ids of one model');
  const { to } = escalation;
  const fields = { ...asked.fields, model: to, guard: {} };
  const canRetract = asked.canRetract && !held;
  const request = { ...asked, verbatim: false, announced: false, canRetract, fields };
  const options = {
    of: model,
    to,
    whole: asked.kept === true && asked.stream !== true,
    answer: () => by.escalate(to, request),
    escalated: (error: unknown) => by.escalated(model, to, error, asked),
  };
  return (flagged, gate) => escalated(flagged, options, gate);
}

/**
 * @param first the answer that may be flagged
 * @param scored methods of its guard; passes of further answers would cost more than these, unless one judges
 */
function vote(
  first: Asked,
  scored: Pick<GuardInForce, 'method' | 'methods'>,
  model: string,
  by: ReplacedBy,
): Rest {
  const { fields, response } = first;
  const { seed } = fields;
  const methods = scored.methods.filter((method) => method === scored.method || isProbability(method));
  const guard = { ...fields.guard, methods };
  // Greedy answers would all be the same.
  const temperature = fields.temperature || VOTE_TEMPERATURE;
  const further = {
    ...first,
    ...(response && { response: { ...response, temperature } }),
    announced: false,
    further: true,
  };
  const seeded = (number: number) =>
    typeof seed === 'number' && {
      seed: (Number.isSafeInteger(seed + number) ? seed : seed % 2 ** 31) + number,
    };
  const options = {
    of: model,
    answers: 1 + guardSchema.parse(guard).candidates,
    answer: (number: number) =>
      by.written({ ...further, fields: { ...fields, guard, temperature, ...seeded(number) } }),
    said: saidBy(by.policies.voteOf(model)),
    voted: (isReplaced: boolean, error: unknown) => by.voted(model, isReplaced, error, first),
  };
  return (flagged, gate) => voted(flagged, options, gate);
}

const refusal = (param: string, problem: string): ApiError =>
  new ApiError('invalid_value', `${param}: ${problem}`, param);
