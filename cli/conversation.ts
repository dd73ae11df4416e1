import type { ChatMessage } from '../src/tokenizer/chat-template.js';

/** What is asked of the model. */
export interface Asked {
  readonly messages: readonly ChatMessage[];
  /** Earlier questions that were left out, because the context has no room for them. */
  readonly leftOut: number;
}

export interface ConversationOptions {
  readonly system: string | undefined;
  /** Length of a prompt in tokens. */
  readonly tokensOf: (messages: readonly ChatMessage[]) => number;
  /** Most tokens of a prompt. */
  readonly room: number;
}

/** Questions and answers so far. The oldest are left out for good once the context has no room for them. */
export class Conversation {
  readonly #options: ConversationOptions;
  #system: string | undefined;
  #exchanges: { readonly question: string; readonly answer: string }[] = [];

  constructor(options: ConversationOptions) {
    this.#options = options;
    this.#system = options.system;
  }

  get messages(): ChatMessage[] {
    return [
      ...(this.#system === undefined ? [] : [{ role: 'system', content: this.#system }]),
      ...this.#exchanges.flatMap(({ question, answer }) => [
        { role: 'user', content: question },
        { role: 'assistant', content: answer },
      ]),
    ];
  }

  /** @throws TemplateError where the template refuses the messages */
  ask(question: string): Asked {
    const { tokensOf, room } = this.#options;
    for (let leftOut = 0; ; leftOut++) {
      const messages = [...this.messages, { role: 'user', content: question }];
      if (this.#exchanges.length === 0 || tokensOf(messages) <= room) return { messages, leftOut };
      this.#exchanges.shift();
    }
  }

  answered(question: string, answer: string): void {
    this.#exchanges.push({ question, answer });
  }

  /** Begins anew, with the same system message. */
  clear(): void {
    this.#exchanges = [];
  }

  /** Begins anew, with another system message, or with none. */
  instruct(system: string | undefined): void {
    this.clear();
    this.#system = system;
  }
}
