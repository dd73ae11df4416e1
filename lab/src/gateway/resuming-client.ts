import { setTimeout } from 'node:timers/promises';
import { readEvent, SUBPROTOCOL } from 'flinch-client/protocol';
import { WebSocket } from 'ws';

export interface Asking {
  /** Addresses of the gateways: each connection goes to the next. */
  readonly urls: readonly string[];
  readonly headers: Readonly<Record<string, string>>;
  /** Fields of `generation.create`. */
  readonly request: object;
  /** After how many events the connection is cut, once; `null` for never. */
  readonly cutAfter: number | null;
  /** The first gateway that is asked. */
  readonly turn: number;
}

export interface Heard {
  /** `done`, or the code of the error that ended it. */
  outcome: string;
  /** Offsets that were not the next: something was lost or came twice. */
  misplaced: number;
  tokens: number;
  resumes: number;
  /** Milliseconds from the request to each token, as far as it was one. */
  firstMs: number;
  lastMs: number;
}

/** Time for a gateway to come back, or another to take over. */
const PATIENCE_MS = 60_000;
const RETRY_MS = 500;

/**
 * Asks for one resumable generation, and reads it to its end whatever happens to its connections: what is lost is taken
 * up at the next gateway.
 */
export async function readResuming({ urls, headers, request, cutAfter, turn }: Asking): Promise<Heard> {
  const heard: Heard = { outcome: '', misplaced: 0, tokens: 0, resumes: 0, firstMs: Number.NaN, lastMs: 0 };
  const begun = performance.now();
  let place: { response_id: string; epoch: string } | null = null;
  let next = 0;
  let lastWord = begun;
  let cut = cutAfter;

  const connection = (url: string, first: object): Promise<void> =>
    new Promise((resolve) => {
      const socket = new WebSocket(`${url.replace('http', 'ws')}/v1/stream`, SUBPROTOCOL, { headers });
      const end = (): void => {
        socket.terminate();
        resolve();
      };
      socket.once('open', () => socket.send(JSON.stringify(first)));
      socket.once('close', resolve);
      socket.on('error', () => {}); // `close` follows
      socket.on('message', (data) => {
        if (heard.outcome !== '') return;
        const event = readEvent(data.toString());
        const now = performance.now();
        lastWord = now;
        if (event.type === 'generation.created')
          place = { response_id: event.response_id, epoch: event.epoch };
        if (event.type === 'generation.resumed' && !event.recovered) heard.outcome = 'not_recovered';
        if (event.type === 'error') heard.outcome = event.error.code;
        if ('offset' in event && event.offset !== undefined) {
          if (event.offset !== next) heard.misplaced += 1;
          next = event.offset + 1;
        }
        if (event.type === 'token.delta') {
          heard.tokens += 1;
          if (heard.tokens === 1) heard.firstMs = now - begun;
          heard.lastMs = now - begun;
        }
        if (event.type === 'generation.done') heard.outcome = 'done';
        if (heard.outcome !== '') end();
        else if (cut !== null && next >= cut) {
          cut = null;
          end();
        }
      });
    });

  for (let attempt = 0; heard.outcome === ''; attempt++) {
    const url = urls[(turn + attempt) % urls.length]!;
    if (place === null) await connection(url, { type: 'generation.create', resumable: true, ...request });
    else {
      heard.resumes += 1;
      await connection(url, { type: 'generation.resume', ...Object(place), offset: next });
    }
    if (heard.outcome !== '') break;
    if (performance.now() - lastWord > PATIENCE_MS) heard.outcome = 'unreachable';
    else if (attempt > 0) await setTimeout(RETRY_MS);
  }
  return heard;
}
