import { concat, lastValueFrom, NEVER, Observable, of, throwError } from 'rxjs';
import { expect, it } from 'vitest';
import { ApiError } from '#gateway/errors/api-error.js';
import { EscalatedSteps } from '#gateway/models/escalate-steps.js';
import { UpstreamError } from '#gateway/upstream/errors.js';
import { FlowGate, type GuardEvent } from '#src/index.js';
import { doneEvent, tokenEvent } from '../../support/events.js';
import { prepared } from '../../support/scripted-model.js';

const tokens = (...texts: string[]): Observable<GuardEvent> =>
  of(...texts.map((text, index) => tokenEvent(index, { text })));

const LOST = new ApiError('upstream_unreachable', 'the connection was cut');

function stepsOf(
  answer: Observable<GuardEvent>,
  returns = true,
  started: (gate: FlowGate) => void = () => {},
) {
  const begun: string[] = [];
  const told: unknown[] = [];
  const steps = new EscalatedSteps({
    ...{ of: 'small', to: 'large', returns },
    prepare: async (text) => {
      begun.push(text);
      return prepared((gate) => {
        started(gate);
        return answer;
      });
    },
    escalated: (error) => told.push(error),
  });
  return { steps, begun, told };
}

it('reads a step, and no more than that takes', async () => {
  let left = 0;
  const endless = new Observable<GuardEvent>((subscriber) => {
    subscriber.add(() => {
      left += 1;
    });
    subscriber.add(concat(tokens('Two', ' words.', ' Next'), NEVER).subscribe(subscriber));
  });
  const { steps, begun, told } = stepsOf(endless);
  // The next token has a space of its own.
  expect(await steps.write('Before. ', 2)).toEqual({ to: 'large', failed: null, text: 'Two words.' });
  expect([begun, told, left]).toEqual([['Before. '], [null], 1]);
  const done: GuardEvent[] = [];
  await steps
    .in(prepared(() => of(doneEvent('stop', 9))))
    .start(new FlowGate())
    .forEach((event) => {
      done.push(event);
    });
  expect(done).toMatchObject([
    { usageByModel: { small: { completionTokens: 9 }, large: { promptTokens: 1, completionTokens: 3 } } },
  ]);
});

it('reads an answer that ends with its step, and knows no step of one that is empty', async () => {
  const whole = stepsOf(concat(tokens('All', ' of it.\n\n'), of(doneEvent())));
  expect(await whole.steps.write('', 0)).toMatchObject({ failed: null, text: 'All of it.\n\n' });
  const none = stepsOf(of(doneEvent()));
  expect(await none.steps.write('All.', 1)).toMatchObject({ failed: null, text: '' });
});

it('hands on all that the other model writes, once it has begun', async () => {
  const { steps, begun, told } = stepsOf(
    concat(tokens('Two', ' words.', ' Next'), of(doneEvent('stop', 3))),
    false,
  );
  const { rest, ...step } = await steps.write('Before. ', 2);
  expect([step, begun, told]).toEqual([{ to: 'large', failed: null, text: '' }, ['Before. '], [null]]);
  const texts: string[] = [];
  for await (const event of rest!) texts.push(event.type === 'token.delta' ? event.text : event.type);
  expect(texts).toEqual(['Two', ' words.', ' Next', 'generation.done']);
  const answer = steps.in(prepared(() => of(doneEvent('stop', 9))));
  expect(await lastValueFrom(answer.start(new FlowGate()))).toMatchObject({
    usageByModel: { small: { completionTokens: 9 }, large: { promptTokens: 1, completionTokens: 3 } },
  });
});

it('leaves the step where the other model fails before it has begun, or writes nothing', async () => {
  const lost = stepsOf(
    throwError(() => LOST),
    false,
  );
  expect(await lost.steps.write('', 0)).toEqual({ to: 'large', failed: 'upstream_unreachable', text: '' });
  const empty = stepsOf(of(doneEvent()), false);
  expect(await empty.steps.write('', 0)).toEqual({ to: 'large', failed: null, text: '' });
});

it('has the other model wait for a client that does not keep up', async () => {
  let gate: FlowGate | undefined;
  const { steps } = stepsOf(tokens('Two'), false, (given) => {
    gate = given;
  });
  const ofClient = new FlowGate();
  const answer = steps
    .in(prepared(() => NEVER))
    .start(ofClient)
    .subscribe();
  await steps.write('', 0);
  const resume = ofClient.hold();
  expect(gate?.open).toBe(false);
  resume();
  expect(gate?.open).toBe(true);
  answer.unsubscribe();
});

it('does not blame the first server for an end of the other', async () => {
  const cut = new UpstreamError('upstream_unreachable', 'the connection was cut');
  const { steps } = stepsOf(
    concat(
      tokens('Two'),
      throwError(() => cut),
    ),
    false,
  );
  const { rest } = await steps.write('', 0);
  const read = async (): Promise<void> => {
    for await (const event of rest!) expect(event.type).toBe('token.delta');
  };
  const error = await read().catch((reason: unknown) => reason);
  expect(error).toMatchObject({ body: { code: 'upstream_unreachable', message: cut.message } });
  expect(error).not.toBeInstanceOf(UpstreamError);
});

it('counts what each model wrote, where the other one writes the rest', async () => {
  const { steps } = stepsOf(
    concat(tokens('Two', ' words.'), of(doneEvent('stop', 5, { promptTokens: 30 }))),
    false,
  );
  const { rest } = await steps.write('Before. ', 2);
  for await (const _ of rest!);
  const answer = steps.in(prepared(() => of(doneEvent('stop', 7, { generatedTokens: 4 }))));
  const done = await lastValueFrom(answer.start(new FlowGate()));
  expect(done).toMatchObject({
    usage: { completionTokens: 7 },
    usageByModel: { small: { completionTokens: 4 }, large: { promptTokens: 30, completionTokens: 5 } },
  });
});

it('leaves the other model where nobody reads on', async () => {
  let left = 0;
  const endless = new Observable<GuardEvent>((subscriber) => {
    subscriber.add(() => {
      left += 1;
    });
    subscriber.add(concat(tokens('Two', ' words.'), NEVER).subscribe(subscriber));
  });
  const { rest } = await stepsOf(endless, false).steps.write('', 0);
  for await (const event of rest!) if (event.type === 'token.delta') break;
  expect(left).toBe(1);
});

it('says why there is none', async () => {
  const { steps, told } = stepsOf(
    concat(
      tokens('Two'),
      throwError(() => LOST),
    ),
  );
  expect(await steps.write('', 0)).toEqual({ to: 'large', failed: 'upstream_unreachable', text: '' });
  expect(told).toEqual([LOST]);
});

it('reads no further once the client has left', async () => {
  let open = 0;
  const silent = new Observable<GuardEvent>(() => {
    open += 1;
    return () => {
      open -= 1;
    };
  });
  const { steps, told } = stepsOf(silent);
  const answer = steps
    .in(prepared(() => NEVER))
    .start(new FlowGate())
    .subscribe();
  const step = steps.write('', 0);
  await expect.poll(() => open).toBe(1);
  // Nobody has asked for it when the client leaves.
  const late = steps.write('late', 1);
  answer.unsubscribe();
  expect([await step, await late].map(({ text }) => text)).toEqual(['', '']);
  expect([open, told]).toEqual([0, []]);
});
