import { isRecord } from './protocol.js';

/**
 * The ids of the models on offer.
 * @throws Error in words that can be shown
 */
export async function listModels(url: URL): Promise<string[]> {
  let response: Response;
  try {
    response = await fetch(url, { headers: { accept: 'application/json' } });
  } catch {
    throw new Error('The list of models could not be read: the server does not answer.');
  }
  if (!response.ok) throw new Error(`The list of models could not be read: status ${response.status}.`);
  const body: unknown = await response.json().catch(() => null);
  const data = isRecord(body) && Array.isArray(body.data) ? body.data : [];
  const ids = data.flatMap((model: unknown) =>
    isRecord(model) && typeof model.id === 'string' ? [model.id] : [],
  );
  if (ids.length === 0) throw new Error('The server offers no model.');
  return ids;
}
