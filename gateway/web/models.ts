import * as z from 'zod/mini';

const list = z.object({ data: z.array(z.object({ id: z.string() })).check(z.minLength(1)) });

/** The server wants a key, or another one. */
export class KeyNeeded extends Error {
  override readonly name = 'KeyNeeded';
}

/**
 * The ids of the models on offer.
 * @throws KeyNeeded
 * @throws Error in words that can be shown
 */
export async function listModels(url: URL, key: string | null): Promise<string[]> {
  const authorization = key === null ? {} : { authorization: `Bearer ${key}` };
  let response: Response;
  try {
    response = await fetch(url, { headers: { accept: 'application/json', ...authorization } });
  } catch {
    throw new Error('The list of models could not be read: the server does not answer.');
  }
  if (response.status === 401) throw new KeyNeeded('The server asks for an API key.');
  if (!response.ok) throw new Error(`The list of models could not be read: status ${response.status}.`);
  const body = list.safeParse(await response.json().catch(() => null));
  if (!body.success) throw new Error('The server offers no model.');
  return body.data.data.map(({ id }) => id);
}
