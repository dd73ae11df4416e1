import express, { type Request, type RequestHandler, type Response } from 'express';
import type { Principal } from '../access/principal.js';
import { passing } from '../answers/passing.js';
import type { ForwardedAnswer } from '../answers/served-model.js';
import { ApiError } from '../errors/api-error.js';
import { isPlainPath, isStateless, type Route } from '../policy/passed-routes.js';
import { parseJsonText } from '../requests/request-text.js';
import type { Serving } from '../serving.js';
import { countedTrace, traceHeaders } from '../tracing/trace-context.js';
import { asObject } from '../upstream/wire/wire-json.js';

/** Headers that describe the request's body and the expected answer. All others are set by the gateway. */
const REQUEST_HEADERS = ['content-type', 'accept', 'openai-beta', 'range'];
const RESPONSE_HEADERS = ['content-type', 'content-disposition', 'content-range', 'retry-after'];

/** Policy for answers that a browser may show: they are never a page of this gateway. */
const FOREIGN = { 'content-security-policy': "sandbox; default-src 'none'" };

/**
 * Requests that the operator lists, such as embeddings: to the servers of the model that their JSON names, else of the
 * first that takes them. Unscored, and past every guard.
 */
export function passthrough(serving: Serving): RequestHandler[] {
  const { lifecycle, settings, models } = serving;
  const read = express.raw({ type: () => true, limit: settings.limits.body_bytes, inflate: false });
  const admit: RequestHandler = async (req, res, next) => {
    res.locals.route = '/v1/*';
    await lifecycle.checkOpen(() => false);
    const { method, path } = partsOf(req);
    // Other forms of a path could be read differently by the server and by us.
    if (!isPlainPath(path)) {
      const problem = 'must be in its plain form: without dots, escapes, or empty parts';
      throw new ApiError('invalid_value', `the path ${problem}`);
    }
    const route = `${method} /v1${path}`;
    if (!models.all.some(({ forwards }) => forwards?.routes.includes(route)))
      throw new ApiError('not_found', `there is nothing at ${route}`);
    res.locals.passed = route;
    next();
  };
  return [admit, read, (req, res, next) => send(serving, req, res).catch(next)];
}

async function send({ answering, metrics }: Serving, req: Request, res: Response): Promise<void> {
  const route: Route = res.locals.passed;
  const principal: Principal = res.locals.principal;
  const bytes = Buffer.isBuffer(req.body) ? req.body : Buffer.alloc(0);
  if (req.method === 'GET' && bytes.length > 0)
    throw new ApiError('invalid_http', 'a GET request has no body');
  const isRaw = bytes.length === 0 || (RAW.test(req.get('content-type') ?? '') && !looksLikeJson(bytes));
  const json = isRaw && !isStateless(route) ? null : objectOf(bytes);
  const { name, forwards } = passing({ route, body: json, principal: principal.name }, answering);
  res.locals.model = name;
  const release = await principal.admit();
  const abort = new AbortController();
  res.once('close', () => abort.abort(new Error('the client is gone')));
  try {
    const headers = {
      ...traceHeaders(countedTrace(req.headers, metrics)),
      ...headersOf(REQUEST_HEADERS, (name) => req.get(name)),
      ...(json && { 'content-type': 'application/json' }),
    };
    const { query } = partsOf(req);
    await pass(await forwards.send({ route, query, headers, body: json ?? bytes }, abort.signal), res);
  } catch (error) {
    if (!res.headersSent && !abort.signal.aborted) throw error;
    res.destroy();
  } finally {
    release();
  }
}

/** Parts of an address as they came: nothing is decoded. */
function partsOf({ method, url }: Request) {
  const [path = '', ...query] = url.split('?');
  return { method, path, query: query.join('?') };
}

async function pass(answer: ForwardedAnswer, res: Response): Promise<void> {
  res.writeHead(answer.status, {
    ...headersOf(RESPONSE_HEADERS, (name) => answer.header(name)),
    ...FOREIGN,
  });
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

/** @throws ApiError 400 for a body that is no object of JSON */
function objectOf(bytes: Buffer): Readonly<Record<string, unknown>> {
  const object = asObject(parseJsonText(bytes.toString(), 'body'));
  if (object) return object;
  throw new ApiError('invalid_json', 'the body must be a JSON object');
}

/** Types of bodies that servers do not read as JSON, unless they look at the bytes. */
const RAW = /^\s*(multipart|audio|image|video)\/|^\s*application\/octet-stream/i;
/** White space and zeros, as of UTF-16, and marks of byte order. */
const BEFORE_JSON: ReadonlySet<number> = new Set([...Array(33).keys(), 0xef, 0xbb, 0xbf, 0xfe, 0xff]);
const looksLikeJson = (bytes: Buffer): boolean =>
  ['{', '['].includes(String.fromCharCode(bytes.find((byte) => !BEFORE_JSON.has(byte)) ?? 0));
