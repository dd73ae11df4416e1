import { fileURLToPath } from 'node:url';
import express, { type ErrorRequestHandler, type Express, type RequestHandler, type Response } from 'express';
import type { Logger } from 'pino';
import { chatCompletions } from './chat-completions.js';
import { ApiError, toApiError } from './errors.js';
import type { Models } from './models.js';

const BODY_LIMIT = '1mb';

/** Compiled, this file is dist/gateway/app.js: the page's scripts lie beside it, its other files in the package. */
const PAGE_SCRIPTS = fileURLToPath(new URL('./web/', import.meta.url));
const PAGE_FILES = fileURLToPath(new URL('../../gateway/web/public/', import.meta.url));

const PAGE_HEADERS = {
  'Content-Security-Policy':
    "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cache-Control': 'no-cache',
};

export interface AppOptions {
  readonly models: Models;
  readonly logger: Logger;
}

/** The HTTP side of the gateway, without a port: mount it where you like. */
export function createApp({ models, logger }: AppOptions): Express {
  const app = express();
  app.disable('x-powered-by');
  app.use(logRequests(logger));
  app.post('/v1/chat/completions', express.json({ limit: BODY_LIMIT }), requireBody, chatCompletions(models));
  app.get('/v1/models', (_req, res) => {
    res.json({ object: 'list', data: models.all.map(({ name }) => modelObject(name, models)) });
  });
  app.get('/v1/models/:id', (req, res) => {
    models.get(req.params.id);
    res.json(modelObject(req.params.id, models));
  });
  app.get('/healthz', (_req, res) => {
    const all = models.all.map((model) => ({ id: model.name, ...model.status() }));
    res.json({ status: all.every(({ ready }) => ready) ? 'ok' : 'degraded', models: all });
  });
  app.use(express.static(PAGE_SCRIPTS, { setHeaders }), express.static(PAGE_FILES, { setHeaders }));
  app.use((req) => {
    throw new ApiError(404, 'not_found', `there is nothing at ${req.method} ${req.path}`);
  });
  app.use(reportErrors);
  return app;
}

function setHeaders(res: Response): void {
  res.set(PAGE_HEADERS);
}

function modelObject(id: string, { created }: Models) {
  return { id, object: 'model', created, owned_by: 'flinch' };
}

/** JSON alone: a form that another site posts never gets as far as a generation. */
const requireBody: RequestHandler = (req, _res, next) => {
  if (req.body === undefined) {
    throw new ApiError(400, 'invalid_json', 'the body must be JSON, with Content-Type: application/json');
  }
  next();
};

const reportErrors: ErrorRequestHandler = (error, _req, res, next) => {
  res.locals.error = error;
  if (res.headersSent) return next(error);
  const { status, body, retryAfterSeconds } = toApiError(error);
  if (retryAfterSeconds !== null) res.setHeader('Retry-After', String(retryAfterSeconds));
  res.status(status).json({ error: body });
};

function logRequests(logger: Logger): RequestHandler {
  return (req, res, next) => {
    const start = performance.now();
    res.once('close', () => {
      const ms = Math.round(performance.now() - start);
      const { model, error } = res.locals;
      const fields = { method: req.method, path: req.path, status: res.statusCode, ms, model };
      if (error && toApiError(error).status >= 500) logger.error({ ...fields, err: error }, 'request failed');
      else logger.info({ ...fields, complete: res.writableFinished }, 'request');
    });
    next();
  };
}
