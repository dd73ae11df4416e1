import type { Logger } from 'pino';
import type { Observe } from './observers.js';

/** Logs the prompt at the start, and the written text at the end, however it ends. */
export const loggedTexts =
  (logger: Logger): Observe =>
  ({ fields: { messages }, prompt }, { name: model }) => {
    const tokens: string[] = [];
    let hasStarted = false;
    return {
      started: () => {
        hasStarted = true;
        logger.info({ model, ...(prompt === undefined ? { messages } : { prompt }) }, 'prompt');
      },
      told: (event) => {
        if (event.type === 'token.delta') tokens[event.index] = event.part ? '' : event.text;
        if (event.type === 'token.retracted') tokens.length = event.from;
      },
      over: () => {
        if (hasStarted) logger.info({ model, response: tokens.join('') }, 'response');
      },
    };
  };
