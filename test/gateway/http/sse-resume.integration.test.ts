import { request as httpRequest, type IncomingMessage } from 'node:http';
import { createParser, type EventSourceMessage } from 'eventsource-parser';
import { describe, expect, it } from 'vitest';
import { chatBody, post, TestSocket, unixEntrance } from '../../support/gateway.js';
import { scriptedGateway } from '../../support/scripted-model.js';

const body = (changes: object = {}) =>
  chatBody({ stream: true, resumable: true, max_tokens: 100, ...changes });

/** Reads events, comments too, until the end or until there are so many; then the connection is cut. */
async function read(
  response: Response,
  most = Number.POSITIVE_INFINITY,
  onEvent: (event: EventSourceMessage) => void = () => {},
) {
  const events: EventSourceMessage[] = [];
  const comments: string[] = [];
  const parser = createParser({
    onEvent: (event) => {
      events.push(event);
      onEvent(event);
    },
    onComment: (comment) => comments.push(comment),
  });
  const decoder = new TextDecoder();
  for await (const bytes of response.body ?? []) {
    parser.feed(decoder.decode(bytes, { stream: true }));
    if (events.length >= most) break;
  }
  return { events: events.slice(0, most), comments };
}

const idOf = (event: EventSourceMessage | undefined) => event?.id ?? '';
const get = (url: string, lastEventId: string, id = lastEventId.split('/')[1]) =>
  fetch(`${url}/v1/chat/completions/${id}`, { headers: { 'Last-Event-ID': lastEventId } });
const again = (url: string, lastEventId: string) =>
  fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'Last-Event-ID': lastEventId },
    body: JSON.stringify(body()),
  });

describe('a streamed completion that was asked to be resumable', () => {
  it('has ids that name epoch, response and offset', async () => {
    const { url, gateway } = await scriptedGateway();
    const { events } = await read(await post(url, body()));
    const { id } = JSON.parse(events[0]!.data) as { id: string };
    expect(events.map(idOf)).toEqual(events.map((_, i) => `${gateway.live.epoch}/${id}/${i}`));
  });

  it.each([
    ['GET', get],
    ['the POST sent again', again],
  ])('goes on after the last event that was read, by %s', async (_name, resume) => {
    const { url, model } = await scriptedGateway({}, { pauseMs: 2 });
    const all: EventSourceMessage[] = [];
    let last = '';
    for (const most of [1, 7, 20, 31, Number.POSITIVE_INFINITY]) {
      const response = last === '' ? await post(url, body()) : await resume(url, last);
      expect([response.status, response.headers.get('content-type')]).toEqual([
        200,
        'text/event-stream; charset=utf-8',
      ]);
      const { events } = await read(response, most);
      all.push(...events);
      last = idOf(events.at(-1));
    }
    expect(model.written).toHaveLength(1);
    expect(all.map((event) => Number(idOf(event).split('/')[2]))).toEqual(all.map((_, i) => i));
    const chunks = all.slice(0, -1).map(({ data }) => JSON.parse(data));
    expect(chunks.map(({ choices }) => choices[0].delta.content ?? '').join('')).toBe(
      Array.from({ length: 100 }, (_, i) => `${i} `).join(''),
    );
    expect(all.at(-1)?.data).toBe('[DONE]');
    expect((await read(await resume(url, last))).events).toEqual([]);
  });

  it.each([
    ['of another epoch', (_epoch: string, id: string) => `other/${id}/3`],
    ['that never was', (epoch: string) => `${epoch}/chatcmpl-x/3`],
    ['beyond its end', (epoch: string, id: string) => `${epoch}/${id}/3000`],
  ])('answers 410 for one %s', async (_name, lastEventId) => {
    const { url, gateway } = await scriptedGateway();
    const { events } = await read(await post(url, body()));
    const idPrefix = lastEventId(gateway.live.epoch, idOf(events[0]).split('/')[1]!);
    for (const response of [await get(url, idPrefix), await again(url, idPrefix)]) {
      expect(response.status).toBe(410);
      expect(await response.json()).toMatchObject({ error: { code: 'not_recovered' } });
    }
  });

  it('answers 400 for an id that is none, and for one of another response', async () => {
    const { url } = await scriptedGateway();
    for (const response of [
      await get(url, 'x', 'x'),
      await get(url, 'e/chatcmpl-a/1', 'chatcmpl-b'),
      await again(url, '[1]'),
      await fetch(`${url}/v1/chat/completions/chatcmpl-x`),
    ]) {
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({ error: { param: 'Last-Event-ID' } });
    }
  });

  it('tells a connection that is still open that another has taken it over', async () => {
    const { url } = await scriptedGateway({}, { pauseMs: 5 });
    const response = await post(url, body());
    let all = read(new Response());
    const first = await new Promise<EventSourceMessage>((resolve) => {
      all = read(response, Number.POSITIVE_INFINITY, resolve);
    });
    const { events: rest } = await read(await get(url, idOf(first)));
    expect(rest.at(-1)?.data).toBe('[DONE]');
    const { events } = await all;
    expect(JSON.parse(events.at(-1)!.data)).toMatchObject({ error: { code: 'taken_over' } });
  });

  it('is not taken over by HEAD, which would read nothing of it', async () => {
    const { url } = await scriptedGateway({}, { pauseMs: 5 });
    const response = await post(url, body());
    let all = read(new Response());
    const first = await new Promise<EventSourceMessage>((resolve) => {
      all = read(response, Number.POSITIVE_INFINITY, resolve);
    });
    const id = idOf(first);
    const head = await fetch(`${url}/v1/chat/completions/${id.split('/')[1]}`, {
      method: 'HEAD',
      headers: { 'Last-Event-ID': id },
    });
    expect([head.status, head.headers.get('allow')]).toEqual([405, 'GET']);
    expect((await all).events.at(-1)?.data).toBe('[DONE]');
  });

  it('does not go on over WebSocket', async () => {
    const { url, gateway } = await scriptedGateway();
    const { events } = await read(await post(url, body()));
    const response_id = idOf(events[0]).split('/')[1];
    const socket = await TestSocket.open(url);
    socket.send({ type: 'generation.resume', response_id, epoch: gateway.live.epoch, offset: 0 });
    expect(await socket.event(({ type }) => type === 'generation.resumed')).toMatchObject({
      recovered: false,
    });
    expect((await get(url, idOf(events[0]))).status).toBe(200);
  });
});

describe('any streamed completion', () => {
  it('has comments as signs of life while nothing else is sent', async () => {
    const { url } = await scriptedGateway({ bounds: { heartbeatMs: 100 } }, { pauseMs: 400 });
    const { events, comments } = await read(await post(url, body({ max_tokens: 3 })));
    expect(events.at(-1)?.data).toBe('[DONE]');
    expect(comments.length).toBeGreaterThan(2);
    expect(new Set(comments)).toEqual(new Set(['heartbeat']));
    // A reader that remembers the last id, as openai-python's, takes each empty line for the end of an event.
    const text = await (await post(url, body({ max_tokens: 3 }))).text();
    expect(text).toContain(': heartbeat\nid: ');
    expect(text.split('\n\n').filter((event) => !/^data: /m.test(event))).toEqual(['']);
  });

  it('is cut when its client does not read for too long', async () => {
    const settings = { streams: { stall_s: 0.2 }, bounds: { queueBytes: 4096 } };
    const { gateway, model } = await scriptedGateway(settings, { text: () => 'x'.repeat(2000) });
    const socketPath = await unixEntrance(gateway);
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      const headers = { 'Content-Type': 'application/json' };
      const options = { socketPath, path: '/v1/chat/completions', method: 'POST', headers };
      const posted = httpRequest(options, resolve).on('error', reject);
      posted.end(JSON.stringify(body({ resumable: false, max_tokens: 10_000 })));
    });
    await expect.poll(() => model.written[0]?.state).toBe('cancelled');
    await expect(response.toArray()).rejects.toThrow('aborted');
  });
});
