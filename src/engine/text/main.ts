/** The process that encodes texts of requests: it may be ended at any moment. */
import { setFlagsFromString } from 'node:v8';
import { openChatTemplate } from '../../tokenizer/chat-template.js';
import type { PromptModel } from '../../tokenizer/prompt.js';
import { openTokenizer } from '../../tokenizer/tokenizer.js';
import { encodeTask, type FromText, type TextModel, type TextTask, toFailure } from './text-messages.js';

// The largest tokenizers take some hundred MB.
setFlagsFromString('--max-old-space-size=2048');

process.on('SIGINT', () => {});
process.on('SIGHUP', () => {});
process.on('SIGTERM', () => {});
process.on('disconnect', () => process.exit(0));
process.once('message', (message: TextModel) => void open(message));

/** A message that cannot be delivered means that the parent is gone. */
const say = (message: FromText): void => {
  process.send?.(message, undefined, undefined, (error) => {
    if (error) process.exit(0);
  });
};

async function open({ dir, vocabSize }: TextModel): Promise<void> {
  try {
    const tokenizer = await openTokenizer(dir, { vocabSize });
    const chatTemplate = await openChatTemplate(dir);
    process.on('message', (task: TextTask) => encode({ tokenizer, chatTemplate }, task));
    say({ type: 'ready' });
  } catch (error) {
    say({ type: 'failed', failure: toFailure(error) });
  }
}

function encode(model: PromptModel, task: TextTask): void {
  try {
    say({ type: 'done', prompt: encodeTask(model, task) });
  } catch (error) {
    say({ type: 'failed', failure: toFailure(error) });
  }
}
