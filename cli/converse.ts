import { writeFile } from 'node:fs/promises';
import { createInterface } from 'node:readline/promises';
import { type Observable, Subject } from 'rxjs';
import type { Engine } from '../src/engine/engine.js';
import { chalk } from '../src/files/colours.js';
import type { ChatMessage } from '../src/tokenizer/chat-template.js';
import { encodePrompt } from '../src/tokenizer/prompt.js';
import { CHAT_HELP, type ChatInput, ChatLines } from './chat-input.js';
import { Conversation } from './conversation.js';
import { reportError } from './errors.js';
import { optionFile } from './option-file.js';
import { complain, remark, say } from './terminal.js';

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

/** A conversation at the terminal, until the input ends. Ctrl-C stops an answer, else the chat. */
export async function converse(
  { checkpoint, contextLength }: Engine,
  { system, maxTokens = Math.floor(contextLength * ANSWER_SHARE), ask }: ConverseOptions,
): Promise<void> {
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  const interrupted = new Subject<void>();
  terminal.on('SIGINT', () => (interrupted.observed ? interrupted.next() : terminal.close()));
  remark(`${checkpoint.name}: /help lists commands, Ctrl-C stops an answer, Ctrl-D ends the chat`);
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
  const lines = new ChatLines();
  const prompt = (): void => {
    terminal.setPrompt(chalk.bold(lines.isOpen ? '… ' : '? '));
    terminal.prompt();
  };
  prompt();
  for await (const line of terminal) {
    const input = lines.read(line);
    if (input?.type === 'bye') break;
    if (input) {
      const done = input.type === 'question' ? answer(input.text) : obey(input, conversation);
      await done.catch(reportError);
    }
    prompt();
  }
  terminal.close(); // it is still read after a command to end
  say('\n');
}

const leftOutWords = (count: number): string =>
  count === 1 ? 'the oldest question and its answer' : `the oldest ${count} questions and their answers`;

type Command = Exclude<ChatInput, { readonly type: 'question' | 'bye' }>;

/** @throws UsageError for a file that cannot be written, or is there already */
async function obey(command: Command, conversation: Conversation): Promise<void> {
  switch (command.type) {
    case 'help':
      return remark(CHAT_HELP);
    case 'new':
      conversation.clear();
      return remark('the conversation is forgotten');
    case 'system':
      conversation.instruct(command.text);
      return remark(
        `the conversation begins anew, ${command.text === undefined ? 'without a' : 'with this'} system message`,
      );
    case 'save': {
      const saved = JSON.stringify({ messages: conversation.messages }, null, 2);
      await optionFile('/save', command.file, writeFile(command.file, `${saved}\n`, { flag: 'wx' }));
      return remark(`saved to ${command.file}`);
    }
    case 'wrong':
      return complain(command.problem);
  }
}
