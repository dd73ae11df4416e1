import type { ChatMessage } from '../../src/tokenizer/chat-template.js';

/** What is asked of the model. */
export interface ModelInput {
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

/** Questions and answers so far. The oldest are left out once the context has no room for them. */
export class Conversation {
  readonly #options: ConversationOptions;
  #exchanges: { readonly question: string; readonly answer: string }[] = [];

  constructor(options: ConversationOptions) {
    this.#options = options;
  }

  /**
   * Nothing is forgotten: a question that is refused, such as one that is too long by itself, costs no earlier one.
   * @throws TemplateError where the template refuses the messages
   */
  ask(question: string): ModelInput {
    const { system, tokensOf, room } = this.#options;
    for (let leftOut = 0; ; leftOut++) {
      const messages = [
        ...(system === undefined ? [] : [{ role: 'system', content: system }]),
        ...this.#exchanges.slice(leftOut).flatMap((exchange) => [
          { role: 'user', content: exchange.question },
          { role: 'assistant', content: exchange.answer },
        ]),
        { role: 'user', content: question },
      ];
      if (leftOut === this.#exchanges.length || tokensOf(messages) <= room) return { messages, leftOut };
    }
  }

  answered(question: string, answer: string): void {
    this.#exchanges.push({ question, answer });
  }

  /** Begins anew, with the same system message. */
  clear(): void {
    this.#exchanges = [];
  }
}
