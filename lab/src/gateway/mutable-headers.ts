/**
 * Loaded into Portkey's gateway (`node --import`): 1.15.2 adds headers to the response that `fetch` gave it, which Node
 * 20 refuses ("immutable"), so that every request would end in status 500.
 */
const original = globalThis.fetch;
const { Response } = globalThis;
globalThis.fetch = async (...request) => {
  const { body, status, statusText, headers } = await original(...request);
  return new Response(body, { status, statusText, headers: new Headers(headers) });
};
