import { ModelError, reasonOf, TemplateError, TextLimitError } from '../../files/file-errors.js';
import type { ChatMessage, TemplateVariables } from '../../tokenizer/chat-template.js';
import { type EncodedPrompt, type PromptLimits, type PromptModel, promptOf } from '../../tokenizer/prompt.js';

/** Location of the tokenizer and template of a process. */
export interface TextModel {
  readonly dir: string;
  readonly vocabSize: number;
}

/** Messages of a process: its model has opened, or a task has ended. */
export type FromText =
  | { readonly type: 'ready' }
  | { readonly type: 'done'; readonly prompt: EncodedPrompt }
  | { readonly type: 'failed'; readonly failure: Failure };

/** An error as it crosses processes, which forget classes. */
export type Failure =
  | { readonly type: 'model'; readonly file: string; readonly field: string; readonly problem: string }
  | { readonly type: 'template'; readonly file: string; readonly reason: string }
  | { readonly type: 'text_limit' | 'unknown'; readonly message: string };

export function toFailure(error: unknown): Failure {
  if (error instanceof ModelError) {
    const { type, file, field, problem } = error;
    return { type, file, field, problem };
  }
  if (error instanceof TemplateError) {
    const { type, file, reason } = error;
    return { type, file, reason };
  }
  return { type: error instanceof TextLimitError ? error.type : 'unknown', message: reasonOf(error) };
}

export function fromFailure(failure: Failure): Error {
  if (failure.type === 'model') return new ModelError(failure.file, failure.field, failure.problem);
  if (failure.type === 'template') return new TemplateError(failure.file, failure.reason);
  return failure.type === 'text_limit' ? new TextLimitError(failure.message) : new Error(failure.message);
}

/** A text of a request that is to become token ids: messages, or a text that no template surrounds. */
export type TextTask =
  | { readonly messages: readonly ChatMessage[]; readonly variables: TemplateVariables }
  | { readonly text: string };

/** @throws TemplateError, ModelError, TextLimitError as `encodePrompt` */
export const encodeTask = (model: PromptModel, task: TextTask, limits?: PromptLimits): EncodedPrompt =>
  'messages' in task
    ? promptOf(model, task.messages, task.variables, limits)
    : { ids: model.tokenizer.encode(task.text), text: task.text };
