import type { Logger } from 'pino';
import { Observable, Subject, tap } from 'rxjs';
import { retracts } from '../../src/guard/guard.js';
import type { GuardEvent } from '../../src/stream/events.js';
import type { Config } from '../config/gateway-config.js';
import { ApiError } from '../errors/api-error.js';
import type { Prompt } from '../requests/completion-request.js';
import type { GenerationFields } from '../requests/generation-request.js';
import type { Message } from '../requests/message-fields.js';
import type { KeptAnswers } from './kept-answers.js';
import type { Models } from './models.js';
import type { Prepared } from './served-model.js';

export interface Bounds {
  readonly limits: Pick<Config['limits'], 'prompt_characters' | 'response_tokens'>;
  readonly kept: KeptAnswers;
  /** Logger of prompts and responses; `null` if they are not logged. */
  readonly texts: Logger | null;
}

/** The same models, for requests within the limits alone. */
export function servedWithin(models: Models, { limits, kept, texts }: Bounds): Models {
  const maxTokens = limits.response_tokens;
  return models.preparedBy(async (model, request, options) => {
    const { asked, from, listeners } = options;
    checkPrompt(request, asked.prompt, limits.prompt_characters);
    if (maxTokens !== undefined) checkTokens(request, maxTokens, asked.prompt !== undefined);
    const written = new Subject<GuardEvent>();
    const within = await model.prepare(request, {
      ...options,
      bounds: { ...options.bounds, ...(maxTokens !== undefined && { maxTokens }) },
      listeners: {
        ...listeners,
        written: (event) => {
          written.next(event);
          listeners?.written?.(event);
        },
      },
    });
    const prepared = keptWithin(kept, within, {
      client: from?.client ?? '',
      kept: asked.kept === true,
      written,
    });
    return texts
      ? withTexts(prepared, { messages: request.messages, prompt: asked.prompt }, texts)
      : prepared;
  });
}

/** @throws ApiError 400 */
function checkPrompt({ messages }: GenerationFields, prompt: Prompt = '', limit: number): void {
  // Only the model knows the text of ids; its context bounds them.
  const own = typeof prompt === 'string' ? prompt.length : 0;
  const characters = messages.reduce((sum, message) => sum + lengthOf(message), own);
  if (characters <= limit) return;
  const text = `messages: ${characters} characters exceed the limit of ${limit}`;
  throw new ApiError('prompt_too_long', text, 'messages');
}

/** Characters of its text; other parts, such as images, are bounded by the size of the body. */
const lengthOf = ({ content }: Message): number =>
  typeof content === 'string'
    ? content.length
    : (content ?? []).reduce((sum, { text }) => sum + (typeof text === 'string' ? text.length : 0), 0);

/**
 * Some servers take 0 or less for no maximum.
 * @throws ApiError 400 that names the field
 */
function checkTokens(request: GenerationFields, limit: number, isCompletion: boolean): void {
  const least = isCompletion && request.echo === true ? 0 : 1;
  for (const field of ['max_completion_tokens', 'max_tokens'] as const) {
    const asked = request[field];
    if (asked === null || asked === undefined || (asked >= least && asked <= limit)) continue;
    const problem =
      asked > limit
        ? `${asked} tokens exceed the limit of ${limit}`
        : `must be from ${least} to the limit of ${limit}, not ${asked}`;
    throw new ApiError('invalid_value', `${field}: ${problem}`, field);
  }
}

interface Keeping {
  readonly client: string;
  /** Whether all of it is kept in any case. */
  readonly kept: boolean;
  /** Events before steps are held back. */
  readonly written: Observable<GuardEvent>;
}

/** Counts the kept events of an answer: all of them, or those held back. */
function keptWithin(answers: KeptAnswers, prepared: Prepared, { client, kept, written }: Keeping): Prepared {
  const { enabled, action, delivery } = prepared.guard;
  const held = enabled && delivery === 'held';
  const whole = kept || (enabled && retracts(action));
  if (!held && !whole) return prepared;
  return {
    ...prepared,
    start: (gate) =>
      new Observable((subscriber) => {
        const answer = answers.open(client, (error) => subscriber.error(error));
        subscriber.add(() => answer.close());
        if (held) subscriber.add(written.subscribe((event) => answer.add(event)));
        prepared
          .start(gate)
          .pipe(
            tap((event) => {
              if (!held) answer.add(event);
              else if (!whole) answer.remove(event);
            }),
          )
          .subscribe(subscriber);
      }),
  };
}

/** Logs the prompt at the start, and the written text at the end, however it ends. */
function withTexts(
  prepared: Prepared,
  { messages, prompt }: { readonly messages: readonly Message[]; readonly prompt: Prompt | undefined },
  logger: Logger,
): Prepared {
  return {
    ...prepared,
    start: (gate) => {
      logger.info({ model: prepared.model, ...(prompt === undefined ? { messages } : { prompt }) }, 'prompt');
      const tokens: string[] = [];
      return prepared.start(gate).pipe(
        tap({
          next: (event) => {
            if (event.type === 'token.delta') tokens[event.index] = event.part ? '' : event.text;
            if (event.type === 'token.retracted') tokens.length = event.from;
          },
          finalize: () => logger.info({ model: prepared.model, response: tokens.join('') }, 'response'),
        }),
      );
    },
  };
}
