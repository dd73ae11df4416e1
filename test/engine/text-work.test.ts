import { describe, expect, it } from 'vitest';
import type { TextProcess } from '#src/engine/text/text-process.js';
import { TextWork } from '#src/engine/text/text-work.js';
import { TextLimitError } from '#src/files/file-errors.js';
import { openChatTemplate } from '#src/tokenizer/chat-template.js';
import type { EncodedPrompt } from '#src/tokenizer/prompt.js';
import { openTokenizer } from '#src/tokenizer/tokenizer.js';
import { fixture } from '../support/graphs.js';

const TINY = fixture('tiny-llama');
const model = {
  tokenizer: await openTokenizer(TINY, { vocabSize: 640 }),
  chatTemplate: await openChatTemplate(TINY),
};
const long = { text: 'word '.repeat(2000) };

/** Processes that answer when they are told to. */
function scripted() {
  const answers: { readonly done: () => void; readonly fail: (error: Error) => void }[] = [];
  let opened = 0;
  const openProcess = (): Pick<TextProcess, 'dead' | 'run' | 'close'> => {
    opened += 1;
    const child = {
      dead: false,
      run: () =>
        new Promise<EncodedPrompt>((resolve, reject) => {
          const fail = (error: Error): void => {
            child.dead = true;
            reject(error);
          };
          answers.push({ done: () => resolve({ ids: [answers.length], text: null }), fail });
        }),
      close: async () => {},
    };
    return child;
  };
  const work = new TextWork(model, { dir: TINY, vocabSize: 640 }, { openProcess });
  return { work, answers, opened: () => opened };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

describe('processes for texts', () => {
  it('are not started for short texts', async () => {
    const { work, opened } = scripted();
    expect((await work.encode({ text: 'a word' })).ids).toEqual(model.tokenizer.encode('a word'));
    expect(opened()).toBe(0);
  });

  it('are two, each with one text at a time, and are used again', async () => {
    const { work, answers, opened } = scripted();
    const tasks = [long, long, long].map((task) => work.encode(task));
    await turn();
    expect(answers).toHaveLength(2);
    answers[0]?.done();
    await tasks[0];
    await turn();
    expect([answers.length, opened()]).toEqual([3, 2]);
    for (const { done } of answers) done();
    await Promise.all(tasks);
    await work.close();
  });

  it('are replaced if they have ended', async () => {
    const { work, answers, opened } = scripted();
    const task = work.encode(long);
    await turn();
    answers[0]?.fail(new TextLimitError('encoding takes more than 5 s'));
    await expect(task).rejects.toThrow('encoding takes more than 5 s');
    const next = work.encode(long);
    await turn();
    expect(opened()).toBe(2);
    answers[1]?.done();
    await next;
    await work.close();
  });

  it('have a queue with an end', async () => {
    const { work, answers } = scripted();
    const tasks = Array.from({ length: 66 }, () => work.encode(long));
    const ended = Promise.allSettled(tasks);
    await turn();
    await expect(work.encode(long)).rejects.toMatchObject({ code: 'overloaded' });
    await expect(work.encode({ text: 'a word' })).resolves.toBeDefined();
    await work.close();
    for (const { done } of answers) done();
    const closed = (await ended).filter((one) => one.status === 'rejected' && one.reason.code === 'closed');
    expect(closed).toHaveLength(64);
  });
});
