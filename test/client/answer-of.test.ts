import { concat, from, lastValueFrom, of, throwError, toArray } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { EMPTY_ANSWER, foldAnswer } from '#client/answer.js';
import { answerOf } from '#client/answer-of.js';
import { FlinchError } from '#client/client-errors.js';
import { created, numbered, rolledBack, token } from './fake-server.js';

describe('answerOf', () => {
  it('emits the empty answer, then the answer after each event', async () => {
    const events = rolledBack();
    const answers = await lastValueFrom(from(events).pipe(answerOf(), toArray()));
    expect(answers[0]).toBe(EMPTY_ANSWER);
    expect(answers).toHaveLength(events.length + 1);
    expect(answers.at(-1)).toEqual(events.reduce(foldAnswer, EMPTY_ANSWER));
  });

  it('ends with a failed answer where the generation fails', async () => {
    const error = new FlinchError('not_recovered', 'gone');
    const events = concat(
      from(rolledBack().slice(0, 3)),
      throwError(() => error),
    );
    const last = await lastValueFrom(events.pipe(answerOf()));
    expect(last).toMatchObject({ phase: 'failed', error });
    expect(last.tokens).toHaveLength(2);
  });

  it('ends with a failed answer where the events do not fit', async () => {
    const last = await lastValueFrom(from(numbered([created(), token(1, 'So')])).pipe(answerOf()));
    expect(last).toMatchObject({ phase: 'failed', error: { code: 'protocol_error' } });
  });

  it('passes errors that are not the client’s', async () => {
    const broken = concat(
      of(rolledBack()[0]!),
      throwError(() => new RangeError('a bug')),
    );
    await expect(lastValueFrom(broken.pipe(answerOf()))).rejects.toThrow(RangeError);
  });
});
