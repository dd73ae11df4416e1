import { join } from 'node:path';
import { ModelError, reasonOf, TemplateError, TextLimitError } from '../files/file-errors.js';
import { parseJson, readOptional, readOptionalJson } from '../files/json.js';
import { parseTemplate, runTemplate } from './jinja/render.js';
import { strftime } from './strftime.js';
import {
  chatTemplateSchema,
  parseTokenizerConfig,
  readTokenizerConfig,
  type TemplateSources,
} from './tokenizer-config.js';
import { tested } from './tokenizer-self-test.js';

/** A message as templates read it: beside the text they may read `tool_calls`, `tool_call_id`, `reasoning_content`. */
export interface ChatMessage {
  readonly role: string;
  readonly content?: string | null | undefined;
  readonly [field: string]: unknown;
}

/** Variables of a template besides the messages: `tools`, `documents`, and others that its model defines. */
export type TemplateVariables = Readonly<Record<string, unknown>>;

export interface RenderOptions {
  /** Whether to end with the opening of an assistant's message, for the model to continue. */
  readonly addGenerationPrompt: boolean;
  readonly variables?: TemplateVariables;
  /** Milliseconds that it may take; by default as long as it likes. */
  readonly limitMs?: number;
}

/** Origin of a template, and its variables besides the messages. */
export interface TemplateContext {
  /** The file that holds it, for messages. */
  readonly file: string;
  /** `bos_token`, `eos_token`, ... → content. */
  readonly namedTokens: ReadonlyMap<string, string>;
  /** The clock of `strftime_now`. */
  readonly now?: () => Date;
}

/**
 * Characters of a template, which becomes a tree of some hundred bytes a word: those of models have some
 * thousand characters.
 */
const MAX_SOURCE = 2 ** 20;
type Program = ReturnType<typeof parseTemplate>;

/**
 * Turns a conversation into the prompt that the model was trained on, with the Jinja template of the checkpoint.
 * Variables and options are those of transformers' `apply_chat_template`.
 */
export class ChatTemplate {
  /** Jinja, or null for a checkpoint without a template (a base model). */
  readonly source: string | null;
  readonly file: string;
  /** Jinja for conversations with tools, where they have their own. */
  readonly toolUse: string | null;
  readonly #program: Program | null;
  readonly #toolProgram: Program | null;
  readonly #context: TemplateContext;

  /** @throws ModelError for a template that is too long, or is not Jinja */
  constructor(sources: string | null | TemplateSources, context: TemplateContext) {
    const { plain, toolUse } =
      typeof sources === 'string' || sources === null ? { plain: sources, toolUse: null } : sources;
    this.source = plain;
    this.toolUse = toolUse;
    this.file = context.file;
    this.#context = context;
    this.#program = this.#parse(plain);
    this.#toolProgram = this.#parse(toolUse);
  }

  #parse(source: string | null): Program | null {
    if (source === null) return null;
    if (source.length <= MAX_SOURCE) return this.#guard(() => parseTemplate(source));
    const problem = `has ${source.length} characters (at most ${MAX_SOURCE})`;
    throw new ModelError(this.file, 'chat_template', problem);
  }

  /** The same template where other tokens have names. */
  withTokens(namedTokens: ReadonlyMap<string, string>): ChatTemplate {
    const { source: plain, toolUse } = this;
    return new ChatTemplate({ plain, toolUse }, { ...this.#context, namedTokens });
  }

  /** `bos_token`, `eos_token`, ... → content. */
  get namedTokens(): ReadonlyMap<string, string> {
    return this.#context.namedTokens;
  }

  /**
   * @throws TemplateError if the template refuses the messages
   * @throws ModelError for a checkpoint without a template, or one whose template fails
   * @throws TextLimitError if it takes longer than the limit
   */
  render(
    messages: readonly ChatMessage[],
    { addGenerationPrompt, variables: given, limitMs = Number.POSITIVE_INFINITY }: RenderOptions,
  ): string {
    const { file, namedTokens, now = () => new Date() } = this.#context;
    const hasTools = given?.tools !== undefined && given.tools !== null;
    const program = (hasTools && this.#toolProgram) || this.#program;
    if (program === null)
      throw new ModelError(file, 'chat_template', 'is missing; this model does not support chat');
    const variables: Readonly<Record<string, unknown>> = {
      tools: null,
      documents: null,
      ...given,
      ...Object.fromEntries(namedTokens),
      messages,
      add_generation_prompt: addGenerationPrompt,
    };
    const functions = {
      strftime_now: (format: string) => strftime(now(), format),
      raise_exception: (reason: string) => {
        throw new TemplateError(file, reason);
      },
    };
    return this.#guard(() => runTemplate(program, variables, functions, limitMs));
  }

  /**
   * Whether it leaves out what came before the last question, as that of a model does that knows no conversations.
   * A template that refuses such a conversation is not one of these: it says so itself.
   */
  get isSingleTurn(): boolean {
    const rendered = (from: number): string =>
      this.render(CONVERSATION.slice(from), { addGenerationPrompt: true });
    try {
      return rendered(1) === rendered(3);
    } catch {
      return false;
    }
  }

  #guard<T>(work: () => T): T {
    try {
      return work();
    } catch (cause) {
      if (cause instanceof TemplateError || cause instanceof TextLimitError) throw cause;
      throw new ModelError(this.#context.file, 'chat_template', reasonOf(cause), { cause });
    }
  }
}

/**
 * Reads the chat template of a checkpoint. As in transformers, files of their own win over tokenizer_config.json, and
 * that over `chat_template.json`.
 *
 * @throws ModelError for a template that is not Jinja or takes too long, and for a file that is broken
 */
export async function openChatTemplate(dir: string): Promise<ChatTemplate> {
  const template = await readChatTemplate(dir);
  testTemplate(template);
  return template;
}

const JINJA = 'chat_template.jinja';
const TOOL_USE = 'additional_chat_templates/tool_use.jinja';

async function readChatTemplate(dir: string): Promise<ChatTemplate> {
  const configFile = join(dir, 'tokenizer_config.json');
  const { namedTokens, chatTemplate } = parseTokenizerConfig(await readTokenizerConfig(dir), configFile);
  const context = (name: string) => ({ file: join(dir, name), namedTokens });
  const [plain, toolUse] = await Promise.all([JINJA, TOOL_USE].map((name) => readText(dir, name)));
  if (plain != null) return new ChatTemplate({ plain, toolUse: toolUse ?? null }, context(JINJA));
  if (toolUse != null)
    throw new ModelError(join(dir, TOOL_USE), '', `needs ${JINJA} for other conversations`);
  const json = await readOptionalJson(dir, 'chat_template.json');
  if (chatTemplate.plain === null && json !== undefined) {
    const { file } = context('chat_template.json');
    return new ChatTemplate(parseJson(chatTemplateSchema, json, file).chat_template, { file, namedTokens });
  }
  return new ChatTemplate(chatTemplate, { file: configFile, namedTokens });
}

async function readText(dir: string, name: string): Promise<string | null> {
  const bytes = await readOptional(dir, name);
  return bytes ? new TextDecoder().decode(bytes) : null;
}

const CONVERSATION: readonly ChatMessage[] = [
  { role: 'system', content: 'Answer briefly.' },
  { role: 'user', content: 'What is 2 + 2?' },
  { role: 'assistant', content: '4' },
  { role: 'user', content: 'And 3 + 3?' },
];

/**
 * Refuses a chat template that takes too long for some words, or makes too much of them. What else it may refuse, such as
 * a system message, is the request's.
 *
 * @throws ModelError
 */
export function testTemplate(template: ChatTemplate): void {
  if (template.source === null) return;
  for (const messages of [CONVERSATION, CONVERSATION.slice(1, 2)]) {
    try {
      tested(template.file, 'chat_template', () => template.render(messages, { addGenerationPrompt: true }));
    } catch (error) {
      if (error instanceof ModelError && error.cause instanceof TextLimitError) throw error;
    }
  }
}
