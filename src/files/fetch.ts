import { DecoratorHandler, type Dispatcher, EnvHttpProxyAgent, fetch, type Response } from 'undici';

const REDIRECTS = [301, 302, 303, 307, 308];
/** Limit of the Fetch Standard. */
const MOST_REDIRECTS = 20;

/**
 * Asks for what is at an address, by way of the proxies of the environment. Redirects are followed here: `fetch` of undici
 * leaves their bodies to come, and as nothing is paused, one without an end would fill the memory.
 *
 * @param headers a token among them is not shown to other hosts
 */
export async function fetchFrom(
  url: string,
  {
    headers,
    signal,
  }: { readonly headers: Readonly<Record<string, string>>; readonly signal: AbortSignal | null },
): Promise<Response> {
  const { authorization, ...others } = headers;
  let place = new URL(url);
  let shown: Readonly<Record<string, string>> = headers;
  for (let redirects = 0; redirects <= MOST_REDIRECTS; redirects += 1) {
    const response = await fetch(place, {
      headers: shown,
      signal,
      redirect: 'manual',
      dispatcher: proxies(),
    });
    const location = REDIRECTS.includes(response.status) ? response.headers.get('location') : null;
    if (location === null) return response;
    await response.body?.cancel();
    const next = new URL(location, place);
    if (!/^https?:$/.test(next.protocol)) throw new Error(`redirected to ${next.protocol}`);
    if (next.origin !== place.origin) shown = others;
    place = next;
  }
  throw new Error(`redirected more than ${MOST_REDIRECTS} times`);
}

let agent: Dispatcher | undefined;

/** HTTP_PROXY, HTTPS_PROXY and NO_PROXY, as other programs take them. */
function proxies(): Dispatcher {
  agent ??= new EnvHttpProxyAgent().compose(neverPaused);
  return agent;
}

/**
 * undici 7 ends the process where a connection ends while its parser is paused (nodejs/undici#5360). Bodies are taken as
 * fast as they come, and no longer than they may be, so that there is no need to.
 */
const neverPaused: Dispatcher.DispatcherComposeInterceptor = (dispatch) => (options, handler) => {
  const decorated: Dispatcher.DispatchHandler = new DecoratorHandler(handler);
  const start = decorated.onRequestStart?.bind(decorated);
  decorated.onRequestStart = (controller, context) => {
    controller.pause = () => {};
    start?.(controller, context);
  };
  return dispatch(options, decorated);
};
