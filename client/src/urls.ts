/** The address of the stream below that of the gateway; `http:` or `ws:`, as it comes. */
export function streamUrl(gateway: string | URL): URL {
  const url = below(gateway, 'v1/stream');
  url.protocol = url.protocol.replace('http', 'ws');
  return url;
}

export function ticketUrl(gateway: string | URL): URL {
  const url = below(gateway, 'v1/tickets');
  url.protocol = url.protocol.replace('ws', 'http');
  return url;
}

/** A gateway may be served below a path, whether or not its address ends in a slash. */
function below(gateway: string | URL, path: string): URL {
  const base = new URL(gateway);
  if (!base.pathname.endsWith('/')) base.pathname += '/';
  return new URL(path, base);
}
