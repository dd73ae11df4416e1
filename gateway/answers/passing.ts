import { ApiError } from '../errors/api-error.js';
import { isStateless, type Route } from '../policy/passed-routes.js';
import { checkReferences } from '../policy/stored-references.js';
import { closingBeside, type Governing } from './governing.js';
import type { Forwards } from './served-model.js';

/** A request that is to be passed on as it is. */
export interface Passing {
  readonly route: Route;
  /** `null` where it is no object of JSON. */
  readonly body: Readonly<Record<string, unknown>> | null;
  /** Name of the key. */
  readonly principal: string;
}

/**
 * Finds the model whose servers are sent a request as it is.
 * @throws ApiError 404 for a route that the operator does not list, or a model that is not served; 403 where a policy
 *   keeps unguarded requests from one of the models of the same server; 400 for references to stored data
 */
export function passing(
  { route, body, principal }: Passing,
  governing: Governing,
): { readonly name: string; readonly forwards: Forwards } {
  const { models, policies, severalKeys } = governing;
  if (body && severalKeys) checkReferences(body);
  const among = typeof body?.model === 'string' ? [models.get(body.model)] : models.all;
  for (const model of among) {
    const { name, forwards } = model;
    if (!forwards?.routes.includes(route)) continue;
    const own = policies.of(name, principal);
    const closing = own?.closed ? own : closingBeside(model, principal, governing);
    if (closing && !isStateless(route)) {
      const problem = `the policy ${closing.name} locks the guard, and nothing is guarded at this path`;
      throw new ApiError('policy_violation', problem);
    }
    return { name, forwards };
  }
  throw new ApiError('not_found', `${route} is not passed on to the servers of this model`);
}
