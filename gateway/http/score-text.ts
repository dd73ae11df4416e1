import { randomUUID } from 'node:crypto';
import type { Response } from 'express';
import { eventFields, verdictFields } from '../../src/stream/wire.js';
import type { Principal } from '../access/principal.js';
import { answer } from '../answers/answering.js';
import type { FieldNames } from '../answers/asked.js';
import { type Encoding, type LiveGeneration, SILENT, type Sink } from '../generations/live-generation.js';
import type { GenerationFields } from '../requests/generation-request.js';
import { GivenText } from '../requests/given-text.js';
import type { Serving } from '../serving.js';
import { countedTrace } from '../tracing/trace-context.js';
import { type Answered, answered, type SaidGuard } from './said-guard.js';

/** Result for one text. */
export interface ScoredText {
  readonly model: string;
  readonly guard: SaidGuard;
  readonly verdict: ReturnType<typeof verdictFields>;
  /** The `step.flagged` of its steps. */
  readonly flagged: readonly object[];
}

/**
 * Scores a text for a request that waits for it.
 * @param asked the request that the text answers, and the API's names for the fields of a chat
 * @returns `null` if the client goes away
 * @throws ApiError, or what scoring fails with
 */
export async function scoreText(
  text: string,
  { models, answering, live, logger, metrics, settings }: Serving,
  { fields, names }: { readonly fields: GenerationFields; readonly names: FieldNames },
  res: Response,
): Promise<ScoredText | null> {
  const principal: Principal = res.locals.principal;
  const { name, client } = principal;
  const id = `score-${randomUUID()}`;
  res.locals.model = models.named(fields.model);
  res.locals.responseId = id;
  const given = GivenText.whole(text, settings.limits.prompt_characters);
  const trace = countedTrace(res.req.headers, metrics);
  const by = { principal: name, client, responseId: id, trace };
  let generation: LiveGeneration | null = null;
  const leave = (): void => generation?.discard();
  res.once('close', leave);
  try {
    return await new Promise((resolve, reject) => {
      const sink: Sink = { send: () => {}, ended: () => {}, refused: reject, lost: () => resolve(null) };
      const opened = live.open({
        id,
        principal,
        resumable: false,
        logger: logger.child({ request_id: res.locals.requestId, principal: name }),
        prepare: () => answer({ ...by, fields, names, given, canRetract: true }, answering),
        encode: (own) => scoredEncoding(answered(own), resolve),
      });
      opened.then((own) => {
        generation = own;
        res.locals.outcome = own.outcome;
        own.start(sink);
        if (res.destroyed) leave();
      }, reject);
    });
  } finally {
    res.off('close', leave);
  }
}

/** Encoding that sends nothing: the result is reported at the end. */
function scoredEncoding(
  { model, guard, vocabulary }: Answered,
  tell: (scored: ScoredText) => void,
): Encoding {
  const flagged: object[] = [];
  return {
    ...SILENT,
    event: (event) => {
      if (event.type === 'step.flagged') flagged.push(eventFields(event, vocabulary));
      if (event.type === 'generation.done' && event.verdict) {
        tell({ model, guard, verdict: verdictFields(event.verdict), flagged });
      }
      return [];
    },
  };
}
