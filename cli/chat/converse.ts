import { createInterface } from 'node:readline/promises';
import { type Observable, Subject } from 'rxjs';
import type { Engine } from '../../src/engine/engine.js';
import { chalk } from '../../src/files/colours.js';
import type { ChatMessage } from '../../src/tokenizer/chat-template.js';
import { encodePrompt } from '../../src/tokenizer/prompt.js';
import { reportError } from '../exit-errors.js';
import { complain, remark, say, streams } from '../terminal.js';
import { Conversation } from './conversation.js';

/** An answer as it stands. */
export interface Answered {
  readonly text: string;
  /** Whether it was not interrupted. */
  readonly whole: boolean;
}

export interface ConverseOptions {
  readonly system: string | undefined;
  /** Longest answer, in tokens. */
  readonly maxTokens: number | undefined;
  /** Shows the answer to the last message while it is written. */
  readonly ask: (messages: readonly ChatMessage[], interrupted: Observable<unknown>) => Promise<Answered>;
}

/** Part of the context that is kept for an answer of any length. */
const ANSWER_SHARE = 0.25;

/**
 * A conversation at the terminal, until the input ends. Ctrl-C stops an answer, else the chat. What is typed during an
 * answer is shown at the next prompt.
 */
export async function converse(
  { checkpoint, contextLength }: Engine,
  { system, maxTokens = Math.floor(contextLength * ANSWER_SHARE), ask }: ConverseOptions,
): Promise<void> {
  const { stdin, stdout } = streams;
  let atPrompt = false;
  const output: typeof stdout = Object.create(stdout, {
    write: { value: (text: string) => atPrompt && stdout.write(text) },
    // A line that nobody sees does not reach the edge: else what is above it would be erased with it.
    columns: { get: () => (atPrompt ? stdout.columns : undefined) },
  });
  const terminal = createInterface({ input: stdin, output });
  let typedAhead = 0;
  terminal.on('line', () => {
    if (!atPrompt) typedAhead += 1;
    atPrompt = false;
  });
  const interrupted = new Subject<void>();
  terminal.on('SIGINT', () => (interrupted.observed ? interrupted.next() : terminal.close()));
  remark(`${checkpoint.name}: /new forgets the conversation, Ctrl-C stops an answer, Ctrl-D ends the chat`);
  if (checkpoint.chatTemplate.isSingleTurn)
    remark('this model knows single questions only: it is not told earlier ones');
  const conversation = new Conversation({
    system,
    tokensOf: (messages) => encodePrompt(checkpoint, messages).length,
    room: contextLength - maxTokens,
  });
  const answer = async (question: string): Promise<void> => {
    const { messages, leftOut } = conversation.ask(question);
    if (leftOut > 0) remark(`the context is full; left out: ${leftOutWords(leftOut)}`);
    const { text, whole } = await ask(messages, interrupted);
    if (!whole) remark('stopped');
    if (text !== '') conversation.answered(question, text);
  };
  terminal.setPrompt(chalk.bold('? '));
  const prompt = (): void => {
    atPrompt = typedAhead === 0;
    if (atPrompt) terminal.prompt(true);
  };
  prompt();
  for await (const line of terminal) {
    if (typedAhead > 0) {
      typedAhead -= 1;
      say(`${terminal.getPrompt()}${line}\n`);
    }
    const text = line.trim();
    if (/^(\/bye|exit|quit)$/i.test(text)) break;
    if (text === '/new') {
      conversation.clear();
      remark('the conversation is forgotten');
    } else if (/^\/\w+$/.test(text)) complain(`${text} is no command; /new and /bye are`);
    else if (text !== '') await answer(text).catch(reportError);
    prompt();
  }
  terminal.close(); // it is still read after a command to end
  say('\n');
}

const leftOutWords = (count: number): string =>
  count === 1 ? 'the oldest question and its answer' : `the oldest ${count} questions and their answers`;
