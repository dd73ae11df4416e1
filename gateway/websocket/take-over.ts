import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'pino';
import type { TakeOver } from '../generations/elsewhere.js';
import type { LiveGenerations } from '../generations/live-generations.js';
import { lostError } from '../generations/lost.js';
import type { GovernedModels } from '../models/governed-models.js';
import type { Prepared } from '../models/served-model.js';
import { exactOf, jsonText, withExactFields } from '../requests/exact-numbers.js';
import { createSchema, type GenerationFields, parse } from '../requests/generation-request.js';
import { parseJsonText } from '../requests/json-text.js';
import { StreamEncoding } from './encoding.js';
import { type Told, toldOf } from './told.js';

export interface TakeOverOptions {
  readonly models: GovernedModels;
  readonly live: LiveGenerations;
  readonly logger: Logger;
}

/** Data with which another gateway can go on with a generation: the message that asked for it. */
export const recordOf = (request: GenerationFields): string =>
  jsonText(withExactFields(request, exactOf(request)));

/**
 * Goes on with generations whose gateway is gone, by the message that asked for each and the events that were
 * sent. It does so only under the settings that the client was told, with a model that can go on after a
 * text.
 */
export function takeOver({ models, live, logger }: TakeOverOptions): TakeOver {
  return async (lost, principal) => {
    const { id, epoch, record, frames } = lost;
    const told = toldOf(id, frames);
    if (!told) return false;
    const request = parse(createSchema, parseJsonText(record, 'message'));
    const { request_id: requestId } = request;
    const { name, client } = principal;
    const generation = await live.open({
      id,
      principal,
      resumable: true,
      requestId,
      record,
      lost,
      logger: logger.child({ principal: name }),
      over: ({ model }, complete) => logger.info({ response_id: id, model, complete }, 'generation'),
      prepare: async () => {
        const prepared = await models.prepare(request, {
          asked: { canRetract: true, stream: true, after: told.settled },
          from: { principal: name, client, responseId: id },
        });
        if (!prepared.goesOn || !isAsTold(prepared, told)) throw lostError('owner_lost');
        return prepared;
      },
      encode: (prepared, resumable) => {
        const encoding = new StreamEncoding({ id, requestId, epoch, resumable, prepared });
        for (const token of told.settled.tokens.slice(-1)) encoding.event(token, 0); // the encoding counts it
        return encoding;
      },
    });
    generation.goOn();
    return true;
  };
}

/** Whether model and guard are those that the client was told. */
function isAsTold({ model, promptTokens, guard }: Prepared, { created }: Told): boolean {
  const asSent: unknown = JSON.parse(JSON.stringify(guard));
  const same = model === created.model && promptTokens === created.prompt_tokens;
  return same && isDeepStrictEqual(asSent, created.guard);
}
