import express, { type Request, type RequestHandler, type Response } from 'express';
import type { Principal } from '../access/principal.js';
import { ApiError } from '../errors/api-error.js';
import type { Lifecycle } from '../generations/lifecycle.js';
import type { Metrics } from '../metrics/metrics.js';
import type { GovernedModels } from '../models/governed-models.js';
import type { Models } from '../models/models.js';
import type { Forward, ForwardedAnswer, ServedModel } from '../models/served-model.js';
import { parseJsonText } from '../requests/json-text.js';
import { readTrace, traceHeaders } from '../tracing/trace-context.js';

export interface PassthroughOptions {
  readonly models: GovernedModels;
  readonly lifecycle: Lifecycle;
  readonly metrics: Pick<Metrics, 'traceContext'>;
  /** Of a body. */
  readonly maxBytes: number;
}

/** Of a request: what its body is, and what is expected. All others are the gateway's. */
const REQUEST_HEADERS = ['content-type', 'accept', 'openai-beta', 'range'];
const RESPONSE_HEADERS = ['content-type', 'content-disposition', 'content-range', 'retry-after'];

/**
 * Other paths of the API, such as embeddings and files, for models whose servers take them as they come: the model
 * that a JSON body names, else the first. Unscored, and past every guard.
 */
export function passthrough(options: PassthroughOptions): RequestHandler[] {
  const { lifecycle, maxBytes } = options;
  const read = express.raw({ type: () => true, limit: maxBytes, inflate: false });
  const admit: RequestHandler = async (_req, res, next) => {
    res.locals.route = '/v1/*';
    await lifecycle.checkOpen(() => false);
    next();
  };
  return [admit, read, (req, res, next) => send(options, req, res).catch(next)];
}

async function send({ models, metrics }: PassthroughOptions, req: Request, res: Response): Promise<void> {
  const body = Buffer.isBuffer(req.body) ? req.body : Buffer.alloc(0);
  const json = req.is('application/json') ? objectOf(body) : null;
  const { name, forward } = modelOf(models, json?.model);
  res.locals.model = name;
  const principal: Principal = res.locals.principal;
  checkPolicy(models, name, principal.name, req.path);
  const release = await principal.admit();
  const abort = new AbortController();
  res.once('close', () => abort.abort(new Error('the client is gone')));
  try {
    const { context: trace, ignored } = readTrace(req.headers);
    metrics.traceContext(ignored);
    const headers = {
      ...traceHeaders(trace),
      ...headersOf(REQUEST_HEADERS, (name) => req.get(name)),
    };
    const answer = await forward({ method: req.method, path: req.url, headers, body, json }, abort.signal);
    await pass(answer, res);
  } catch (error) {
    if (!res.headersSent && !abort.signal.aborted) throw error;
    res.destroy();
  } finally {
    release();
  }
}

/**
 * The model that is asked.
 * @throws ApiError 404 for one that is not served, or not so
 */
function modelOf(models: Models, name: unknown): Pick<ServedModel, 'name'> & { readonly forward: Forward } {
  const asked = typeof name === 'string' ? [models.get(name)] : models.all;
  for (const { name, forward } of asked) if (forward) return { name, forward };
  throw new ApiError(404, 'not_found', 'model: takes chat completions alone', 'model');
}

/** Paths at which no text is written, so that there is nothing to guard. */
const WITHOUT_TEXT =
  /^\/(audio|detokenize|embeddings|files|images|models|moderations|rerank|score|tokenize|uploads)\b/;

/** @throws ApiError 403 where a policy has locked fields: at other paths there is no guard */
function checkPolicy({ policies }: GovernedModels, model: string, principal: string, path: string): void {
  const policy = policies.of(model, principal);
  if (!policy || policy.locked.size === 0 || WITHOUT_TEXT.test(path)) return;
  const message = `the policy ${policy.name} locks the guard, and nothing is guarded at this path`;
  throw new ApiError(403, 'policy_violation', message);
}

async function pass(answer: ForwardedAnswer, res: Response): Promise<void> {
  res.writeHead(
    answer.status,
    headersOf(RESPONSE_HEADERS, (name) => answer.header(name)),
  );
  try {
    for (let bytes = await answer.read(); bytes; bytes = await answer.read()) {
      if (res.destroyed) return;
      if (!res.write(bytes)) await drained(res);
    }
    res.end();
  } finally {
    answer.cancel();
  }
}

const drained = (res: Response): Promise<void> =>
  new Promise((resolve) => {
    res.once('drain', resolve);
    res.once('close', resolve);
  });

function headersOf(names: readonly string[], read: (name: string) => string | undefined) {
  return Object.fromEntries(
    names.flatMap((name): [string, string][] => {
      const value = read(name);
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

/** @throws ApiError 400 */
function objectOf(body: Buffer): Readonly<Record<string, unknown>> | null {
  const value = parseJsonText(body.toString(), 'body');
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : null;
}
