import type { RequestHandler } from 'express';
import type { Logger } from 'pino';
import { toApiError } from '../errors/api-error.js';
import { OWN_FAULTS } from '../errors/codes.js';
import type { Outcome } from '../generations/outcome.js';
import type { Metrics } from '../metrics/metrics.js';
import { requestIdOf } from './request-id.js';

/**
 * Names, logs and counts every request. Of what the client sent only the method, and its own name for the request if
 * that is fit, is ever written: paths and queries may hold keys, tickets and texts.
 */
export function observe(logger: Logger, metrics: Metrics): RequestHandler {
  return (req, res, next) => {
    const start = performance.now();
    const requestId = requestIdOf(req.headers);
    res.locals.requestId = requestId;
    res.set('X-Request-Id', requestId);
    res.once('close', () => {
      const ms = performance.now() - start;
      const route = routeOf(req.route, res.locals.route);
      const { model, error, principal, responseId } = res.locals;
      const outcome: Outcome | undefined = res.locals.outcome;
      // The status is 200 until an answer begins, whatever its outcome.
      const status = res.headersSent ? res.statusCode : null;
      metrics.request({ method: req.method, route, status, seconds: ms / 1000 });
      const about = { request_id: requestId, method: req.method, route, status };
      const whose = { model, principal: principal?.name, response_id: responseId };
      const fields = { ...about, ms: Math.round(ms), ...whose, ...outcome?.fields };
      if (!error) return logger.info({ ...fields, complete: res.writableFinished }, 'request');
      const { code } = toApiError(error).body;
      if (OWN_FAULTS.has(code)) logger.error({ ...fields, code, err: error }, 'request failed');
      else logger.info({ ...fields, code }, 'request');
    });
    next();
  };
}

/** The template of express's route; what serves files has none. */
function routeOf(route: unknown, fallback: unknown): string {
  if (typeof route === 'object' && route !== null && 'path' in route && typeof route.path === 'string') {
    return route.path;
  }
  return typeof fallback === 'string' ? fallback : 'other';
}
