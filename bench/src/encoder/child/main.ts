import type { FromEncoder, OpenEncoder, ToEncoder } from '../encoder-messages.js';
import { Inference } from './inference.js';

/**
 * Entry of an encoder process, which lives and dies as an engine process does: with its parent, whatever signals reach
 * the process group.
 */
process.on('SIGINT', () => {});
process.on('SIGTERM', () => {});
process.on('disconnect', () => process.exit(0));
process.once('message', (message: OpenEncoder) => void open(message));

/** A message that cannot be delivered means that the parent is gone. */
const send = (message: FromEncoder): void => {
  process.send?.(message, undefined, undefined, (error) => {
    if (error) process.exit(0);
  });
};

async function open(message: OpenEncoder): Promise<void> {
  try {
    const inference = await Inference.open(message);
    let last: Promise<void> = Promise.resolve();
    process.on('message', (asked: ToEncoder) => {
      // One after the other: a run blocks the thread in any case.
      if (asked.type === 'encode') last = last.then(() => answer(inference, asked));
    });
    send({ type: 'ready', device: message.device });
  } catch (error) {
    send({ type: 'unavailable', message: error instanceof Error ? error.message : String(error) });
    process.disconnect();
  }
}

async function answer(
  inference: Inference,
  { stream, inputs }: Extract<ToEncoder, { readonly type: 'encode' }>,
): Promise<void> {
  try {
    send({ type: 'encoded', stream, ...(await inference.encode(inputs)) });
  } catch (error) {
    send({ type: 'failed', stream, message: error instanceof Error ? error.message : String(error) });
  }
}
