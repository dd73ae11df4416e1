import { z } from 'zod';

/** Method and path of a request, as `METHOD /v1/path`. */
export type Route = string;

/** Routes that are passed on by default: they write no text, and store nothing that a client could ask for. */
export const STATELESS_ROUTES: readonly Route[] = [
  'POST /v1/embeddings',
  'POST /v1/moderations',
  'POST /v1/rerank',
  'POST /v1/score',
  'POST /v1/tokenize',
  'POST /v1/detokenize',
  'POST /v1/images/generations',
  'POST /v1/audio/speech',
];

const STATELESS: ReadonlySet<Route> = new Set(STATELESS_ROUTES);
export const isStateless = (route: Route): boolean => STATELESS.has(route);

/**
 * One way to write a path: servers, and proxies before them, understand dots, escapes, semicolons and doubled slashes
 * differently.
 */
const PATH = /^(\/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)+$/;
export const isPlainPath = (path: string): boolean => path.length <= 1024 && PATH.test(path);

/** Paths that flinch answers itself. */
const OWN = /^\/v1\/(chat\/completions|completions|models|responses|stream|tickets)(\/|$)/;

const route = z
  .string()
  .refine((text) => isRoute(text), {
    error:
      'must be a method and a path, such as "POST /v1/embeddings"; methods: GET, POST, PUT, PATCH, DELETE',
  })
  .refine((text) => !OWN.test(text.slice(text.indexOf(' ') + 1)), {
    error: 'is a path that flinch serves itself',
  });

function isRoute(text: string): boolean {
  const [, path] = /^(?:GET|POST|PUT|PATCH|DELETE) (\/v1\/.+)$/.exec(text) ?? [];
  return path !== undefined && isPlainPath(path);
}

/** `true` stands for {@link STATELESS_ROUTES}. */
export const passedRoutes = z
  .union([z.boolean(), z.array(route).max(256)])
  .default(false)
  .transform((value): readonly Route[] => (value === true ? STATELESS_ROUTES : value === false ? [] : value));
