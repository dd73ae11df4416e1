import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

/** Ids that are safe in logs and headers. */
const FIT = /^[A-Za-z0-9._:-]{1,128}$/;

/** The client's own name for a request, if it is fit to be repeated; else a new one. */
export function requestIdOf(headers: IncomingHttpHeaders): string {
  const given = headers['x-request-id'];
  return typeof given === 'string' && FIT.test(given) ? given : randomUUID();
}
