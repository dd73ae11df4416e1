import type { IncomingHttpHeaders, RequestListener } from 'node:http';
import { basename, join } from 'node:path';
import express, { type ErrorRequestHandler, type Express, type RequestHandler, type Response } from 'express';
import { PACKAGE_ROOT } from '../../src/package-root.js';
import { authenticate, checkHost, checkOrigin, issueTicket } from '../access/access-middleware.js';
import type { Principal } from '../access/principal.js';
import type { ServedModel } from '../answers/served-model.js';
import { ApiError, errorHeaders, toApiError } from '../errors/api-error.js';
import type { Lifecycle } from '../generations/lifecycle.js';
import { formatFor } from '../metrics/exposition.js';
import type { Metrics } from '../metrics/metrics.js';
import type { IdleCalibrations } from '../models/idle-calibrations.js';
import { describePolicy } from '../policy/policies.js';
import type { Serving } from '../serving.js';
import { CHAT_COMPLETIONS } from './chat-completions.js';
import { COMPLETIONS } from './completions.js';
import { createGeneration, type GenerationApi, resumeGeneration } from './generation-routes.js';
import { acceptApiKey, guardrail } from './guardrail.js';
import { checkForm } from './http-server.js';
import { inTurn } from './in-turn.js';
import { jsonBody } from './json-body.js';
import { passthrough } from './passthrough.js';
import { observe } from './request-log.js';
import { RESPONSES } from './responses-route.js';

/** `npm run build:page` writes the page's scripts; its other files need no build. */
const PAGE_SCRIPTS = join(PACKAGE_ROOT, 'dist/web');
const PAGE_FILES = join(PACKAGE_ROOT, 'web/public');

/** The client for browsers, as one module. */
const CLIENT = 'client.js';

const PAGE_HEADERS = {
  'Content-Security-Policy':
    "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'Referrer-Policy': 'no-referrer',
  'Cache-Control': 'no-cache',
};

/** express's own redirects to folders repeat the path, which browsers may read as the name of another host. */
const files = { setHeaders, redirect: false };

export interface AppOptions extends Serving {
  /** Whether `/metrics` is here, or has a listener of its own. */
  readonly serveMetrics: boolean;
  /** Health of the state that gateways share, if they do. */
  readonly state: StateHealth | null;
  /** How the workers of the port are, if we are one. */
  readonly workers?: (() => Promise<WorkersHealth>) | undefined;
  readonly calibrations?: IdleCalibrations | undefined;
}

export interface StateHealth {
  readonly up: boolean;
  /** Whether work can be taken on as configured. */
  readonly ready: boolean;
}

export interface WorkerState {
  readonly id: number;
  readonly pid: number | null;
  readonly restarts: number;
  readonly ready: boolean;
}

export interface WorkersHealth {
  readonly workers: readonly WorkerState[];
  /** Streams under way in all workers, by model. */
  readonly streams: Readonly<Record<string, number>>;
}

const LITELLM = '/beta/litellm_basic_guardrail_api';

const APIS: readonly (readonly [path: string, api: GenerationApi])[] = [
  ['/v1/chat/completions', CHAT_COMPLETIONS],
  ['/v1/completions', COMPLETIONS],
  ['/v1/responses', RESPONSES],
];

/** The HTTP side of the gateway, without a port; what it links to is relative, so that any path may be before it. */
export function createApp(options: AppOptions): RequestListener {
  const { models, answering, access, settings, lifecycle, metrics, logger } = options;
  const app = express();
  app.disable('x-powered-by');
  app.use(
    oneAtATime,
    observe(logger, metrics),
    refuseSniffing,
    refuseOddForms,
    checkHost(access),
    sayGoodbye(lifecycle),
  );

  serveHealth(app, options);

  app.use('/v1', checkOrigin(access));
  const user = authenticate(access, 'generate');
  const body = jsonBody(settings.limits.body_bytes);
  const serve = (path: string, api: GenerationApi): void => {
    app.post(path, user, body, createGeneration(api, options));
    // Express answers it as GET: it would take the stream over, and read nothing of it.
    app.head(`${path}/:id`, refuseMethod('GET'));
    app.get(`${path}/:id`, user, resumeGeneration(api, options));
  };
  for (const [path, api] of APIS) serve(path, api);
  app.post('/v1/tickets', user, refuseNewcomers(options), issueTicket(access));
  const { calibrations } = options;
  const described = (model: ServedModel, res: Response) =>
    modelObject(model, { models, answering, calibrations }, res);
  app.get('/v1/models', user, (_req, res) => {
    res.json({ object: 'list', data: models.all.map((model) => described(model, res)) });
  });
  // Names such as `org/model` have a slash.
  const named = '/v1/models/*name';
  const calibration = `${named}/calibration`;
  app.post(calibration, user, (req, res) => {
    const { name } = models.get(nameIn(req.params));
    if (!calibrations) throw new ApiError('not_found', 'this gateway makes no calibrations');
    res.status(202).json(calibrations.start(name));
  });
  app.all(calibration, refuseMethod('POST'));
  app.get(named, user, (req, res) => {
    res.json(described(models.get(nameIn(req.params)), res));
  });
  if (models.passes) app.use('/v1', user, passthrough(options));
  for (const [path] of APIS) {
    app.all(path, refuseMethod('POST'));
    app.all(`${path}/:id`, refuseMethod('GET'));
  }
  app.all('/v1/tickets', refuseMethod('POST'));
  app.all(['/v1/models', named], refuseMethod('GET, HEAD'));
  app.post(LITELLM, checkOrigin(access), acceptApiKey, user, body, guardrail(options));
  app.all(LITELLM, refuseMethod('POST'));
  if (options.serveMetrics) {
    app.get('/metrics', checkOrigin(access), authenticate(access, 'metrics'), sendMetrics(metrics));
    app.all('/metrics', refuseMethod('GET, HEAD'));
  }

  app.use(addSlash, express.static(PAGE_SCRIPTS, files), express.static(PAGE_FILES, files));
  app.use((req) => {
    throw new ApiError('not_found', `there is nothing at ${req.method} ${req.path}`);
  });
  app.use(reportErrors(metrics));
  return app;
}

/**
 * Answers what comes to a path and none of its methods has taken.
 * @param allowed these methods
 */
const refuseMethod =
  (allowed: string): RequestHandler =>
  (req, res) => {
    res.set('Allow', allowed);
    throw new ApiError('method_not_allowed', `${req.path} allows ${allowed} only`);
  };

/** How the gateway is, for probes. */
export type HealthOptions = Pick<AppOptions, 'models' | 'answering' | 'lifecycle' | 'state' | 'workers'>;

function serveHealth(
  app: Express,
  { models, answering, lifecycle, state, workers: askWorkers }: HealthOptions,
): void {
  app.get('/livez', (_req, res) => {
    res.json({ status: 'alive' });
  });
  app.get('/readyz', (_req, res) => {
    const ready = models.ready && (state?.ready ?? true);
    const status = lifecycle.draining ? 'draining' : ready ? 'ready' : 'unavailable';
    res.status(status === 'ready' ? 200 : 503).json({ status });
  });
  app.get('/healthz', async (_req, res) => {
    const health = await askWorkers?.();
    const all = models.all.map((model) => ({
      id: model.name,
      ...model.status(),
      ...(health && { streams: health.streams[model.name] }),
      policies: answering.policies.allOf(model.name).map(describePolicy),
    }));
    const ready = [...all, ...(health?.workers ?? [])].every((each) => each.ready) && (state?.up ?? true);
    const workers = health && { workers: health.workers };
    const redis = state && { state: { up: state.up } };
    res.json({ status: ready ? 'ok' : 'degraded', models: all, ...redis, ...workers });
  });
  app.all(['/livez', '/readyz', '/healthz'], refuseMethod('GET, HEAD'));
}

/**
 * A listener for `/metrics`, which asks for no key: the operator decides which hosts can reach it.
 * @param checkName refuses names that a page of this machine's browser may have made point here
 * @param health for probes, too: it answers while the gateway's port has no place left
 */
export function createOpenApp(
  metrics: Metrics,
  checkName: ((headers: IncomingHttpHeaders) => void) | null,
  health: HealthOptions | null,
): RequestListener {
  const app = express();
  app.disable('x-powered-by');
  app.use(refuseSniffing, refuseOddForms, (req, _res, next) => {
    checkName?.(req.headers);
    next();
  });
  if (health) serveHealth(app, health);
  app.get('/metrics', sendMetrics(metrics));
  app.use(() => {
    const paths = health ? '/livez, /readyz, /healthz and /metrics are' : '/metrics is';
    throw new ApiError('not_found', `only ${paths} available on this port`);
  });
  app.use(reportErrors(metrics));
  return app;
}

function sendMetrics(metrics: Metrics): RequestHandler {
  return async (req, res) => {
    const format = formatFor(req.headers.accept);
    const headers = {
      'Content-Type': metrics.contentType(format),
      Vary: 'Accept',
      'Cache-Control': 'no-store',
    };
    res.set(headers).send(await metrics.text(format));
  };
}

/** Mounted under a path, the page is below it. The address is relative: whatever the path, it is of the same host. */
const addSlash: RequestHandler = (req, res, next) => {
  const [path = '', ...query] = req.originalUrl.split(/(?=\?)/);
  if (req.path !== '/' || path.endsWith('/') || !['GET', 'HEAD'].includes(req.method)) return next();
  res.redirect(301, `./${basename(path)}/${query.join('')}`);
};

function setHeaders(res: Response, file: string): void {
  res.locals.route = 'page';
  res.set(PAGE_HEADERS);
  // The script is available to pages of other sites, too. Access to the gateway is checked separately.
  if (basename(file) === CLIENT) res.set('Access-Control-Allow-Origin', '*');
}

/** The model's name in a path, where it may have slashes. */
const nameIn = ({ name }: { readonly name?: string | string[] }): string => [name ?? ''].flat().join('/');

/** A model, as the key that asks may use it. */
function modelObject(
  model: ServedModel,
  { models, answering, calibrations }: Pick<AppOptions, 'models' | 'answering' | 'calibrations'>,
  { locals }: Response,
) {
  const { created } = models;
  const { policies } = answering;
  const { name, about } = model;
  const { name: principal }: Principal = locals.principal;
  const policy = policies.of(name, principal);
  const { ready, problem = 'it is not ready' } = model.status();
  const flinch = about && {
    ...about,
    problem: ready ? null : problem,
    calibration: calibrations?.of(name) ?? null,
    escalates_to: policies.escalationOf(name)?.to ?? null,
    policy: policy && { ...describePolicy(policy), locked: Object.fromEntries(policy.locked) },
  };
  return { id: name, object: 'model', created, owned_by: 'flinch', ...(flinch && { flinch }) };
}

/** No browser is to take an answer for something else than it says. */
const refuseSniffing: RequestHandler = (_req, res, next) => {
  res.set('X-Content-Type-Options', 'nosniff');
  next();
};

/** Serves one request of a connection at a time: on another application's server nothing else does. */
const oneAtATime: RequestHandler = (req, res, next) => inTurn(req, res, next);

const refuseOddForms: RequestHandler = (req, res, next) => {
  // Proxies of HTTP/1.0 hand `Connection: keep-alive` on without knowing it.
  if (req.httpVersion !== '1.1') res.set('Connection', 'close');
  // Express has cut `url` to what follows the path that we are mounted under.
  const { originalUrl: url, httpVersion, headersDistinct } = req;
  checkForm({ url, httpVersion, headersDistinct });
  next();
};

/** While draining no connection is kept for a further request. */
function sayGoodbye(lifecycle: Lifecycle): RequestHandler {
  return (_req, res, next) => {
    if (lifecycle.draining) res.set('Connection', 'close');
    next();
  };
}

/** While draining, accepts only clients that have something to resume. */
function refuseNewcomers({ lifecycle, live }: Serving): RequestHandler {
  return async (_req, res, next) => {
    await lifecycle.checkOpen(() => live.holds(res.locals.principal));
    next();
  };
}

function reportErrors(metrics: Metrics): ErrorRequestHandler {
  return (error, _req, res, next) => {
    res.locals.error = error;
    const apiError = toApiError(error);
    metrics.refused(apiError.body.code, res.locals.model);
    if (res.headersSent) return next(error);
    res.status(apiError.status).set(errorHeaders(apiError)).json({ error: apiError.body });
  };
}
