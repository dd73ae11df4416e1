import { describe, expect, it } from 'vitest';
import type { WatchedEngine } from '#gateway/answers/served-model.js';
import { Models } from '#gateway/index.js';
import { Metrics } from '#gateway/metrics/metrics.js';
import type { ServerStatus } from '#src/engine/server/score-servers.js';
import { Scrape } from '../../support/metrics.js';

type Status = ReturnType<WatchedEngine['engine']['status']>;

/** An engine of which only the score side is used. */
function watch() {
  const state = { up: true, restarts: 0, waiting: 0, servers: [] as ServerStatus[] };
  let tell: (ms: number) => void = () => {};
  const engine: WatchedEngine['engine'] = {
    onPass: (listener) => {
      tell = listener;
      return () => {
        tell = () => {};
      };
    },
    status: (): Status => {
      const { up, restarts, waiting, servers } = state;
      const score = up ? { pid: 7, device: 'cpu' as const } : { pid: 7, device: undefined };
      const decode = {
        pid: undefined,
        device: undefined,
        precision: 'fp32',
        restarts: 9,
        waiting: 9,
        servers: [],
      } as const;
      return { streams: 0, decode, score: { ...decode, ...score, restarts, waiting, servers } };
    },
  };
  const metrics = new Metrics();
  const inside = { provider: 'openai', engine: { engine, processes: ['score'] } } as const;
  const status = () => ({ ready: true });
  const stop = metrics.watch({
    models: new Models([{ name: 'm', status, inside, source: () => Promise.reject() }]),
    generations: () => 0,
    connections: () => ({ http: 0, websocket: 0 }),
  });
  const read = async () => new Scrape(await metrics.text());
  return { state, passed: (ms: number) => tell(ms), read, stop };
}

describe('the engine of a model', () => {
  it('is up once its process has opened the model', async () => {
    const { state, read } = watch();
    expect((await read()).sum('flinch_engine_up', { model: 'm', process: 'score' })).toBe(1);
    state.up = false; // it runs, but has not opened anything yet
    expect((await read()).sum('flinch_engine_up', { model: 'm', process: 'score' })).toBe(0);
  });

  it('counts each restart once, and nothing of a process that is not used', async () => {
    const { state, read } = watch();
    expect((await read()).sum('flinch_engine_restarts_total')).toBe(0);
    state.restarts = 2;
    await read();
    state.restarts = 3;
    expect((await read()).sum('flinch_engine_restarts_total', { model: 'm', process: 'score' })).toBe(3);
    expect((await read()).sum('flinch_engine_restarts_total')).toBe(3);
  });

  it('has what waits now, and how long passes took', async () => {
    const { state, passed, read } = watch();
    state.waiting = 4;
    passed(30);
    passed(70);
    expect((await read()).sum('flinch_queue_depth', { model: 'm', process: 'score' })).toBe(4);
    expect((await read()).sum('flinch_score_pass_duration_seconds_sum', { model: 'm' })).toBeCloseTo(0.1);
    expect((await read()).sum('flinch_score_pass_duration_seconds_count')).toBe(2);
  });

  it('tells no more once nobody watches', async () => {
    const { passed, read, stop } = watch();
    passed(30);
    stop();
    passed(70);
    expect((await read()).sum('flinch_score_pass_duration_seconds_count')).toBe(1);
  });

  it('says of each inference server what it did, also after the score process began again', async () => {
    const { state, read } = watch();
    const of = { sequences: 2, lostSequences: 1, seconds: 3.5 };
    const a = { address: 'http://a:8000', up: true, runs: 10, failures: 1, ...of };
    const b = { address: 'http://b:8000', up: false, runs: 4, failures: 4, ...of };
    state.servers = [a, b];
    await read();
    state.servers = [{ ...a, runs: 2, failures: 0, seconds: 0.5 }, b];
    const scrape = await read();
    const sum = (name: string, address: string) =>
      scrape.sum(`flinch_scorer_server_${name}`, { model: 'm', address });
    expect([sum('up', a.address), sum('up', b.address)]).toEqual([1, 0]);
    expect([sum('runs_total', a.address), sum('runs_total', b.address)]).toEqual([12, 4]);
    expect([sum('failures_total', a.address), sum('failures_total', b.address)]).toEqual([1, 4]);
    expect(sum('run_seconds_total', a.address)).toBe(4);
    expect([sum('sequences', a.address), sum('sequences_lost_total', a.address)]).toEqual([2, 1]);
  });
});
