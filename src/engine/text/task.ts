import type { ChatMessage, TemplateVariables } from '../../tokenizer/chat-template.js';
import { type EncodedPrompt, type PromptLimits, type PromptModel, promptOf } from '../../tokenizer/prompt.js';

/** A text of a request that is to become token ids: messages, or a text that no template surrounds. */
export type TextTask =
  | { readonly messages: readonly ChatMessage[]; readonly variables: TemplateVariables }
  | { readonly text: string };

/** @throws TemplateError, ModelError, TextLimitError as `encodePrompt` */
export const encodeTask = (model: PromptModel, task: TextTask, limits?: PromptLimits): EncodedPrompt =>
  'messages' in task
    ? promptOf(model, task.messages, task.variables, limits)
    : { ids: model.tokenizer.encode(task.text), text: task.text };
