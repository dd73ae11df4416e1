import * as z from 'zod/mini';
import { FlinchError } from './client-errors.js';
import { readText } from './read-text.js';
import { ticketUrl } from './urls.js';

/** Maximum bytes of a ticket or a refusal: both are a few hundred bytes. */
export const MOST_BYTES = 1 << 16;

const ticketBody = z.object({ ticket: z.string() });
const errorBody = z.object({
  error: z.object({
    message: z.string(),
    type: z.string(),
    param: z.nullable(z.string()),
    code: z.string(),
  }),
});

/**
 * Exchanges a key for a ticket, which admits one connection within a short time.
 * @throws FlinchError of the server, with its status
 * @throws TypeError where the server cannot be reached; RangeError where its answer has no end
 */
export async function fetchTicket(gateway: string | URL, apiKey: string): Promise<string> {
  const response = await fetch(ticketUrl(gateway), {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, accept: 'application/json' },
  });
  const text = await readText(response.body, MOST_BYTES);
  if (!response.ok) throw httpError(response.status, text);
  const body = ticketBody.safeParse(json(text));
  if (!body.success) throw new FlinchError('protocol_error', 'the server returned no ticket');
  return body.data.ticket;
}

/** Error for an HTTP response that is not a success. */
export function httpError(status: number, text: string): FlinchError {
  const body = errorBody.safeParse(json(text));
  if (body.success) return FlinchError.fromServer(body.data.error, { status });
  return new FlinchError('connection_refused', `the server answered with status ${status}`, { status });
}

/** The error, if asking again would not help: no more than the network, or a busy server, stands in the way else. */
export function errorOf(error: unknown): FlinchError | null {
  if (!(error instanceof FlinchError)) return null;
  const { status } = error;
  return status === null || (status < 500 && ![408, 425, 429].includes(status)) ? error : null;
}

function json(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
