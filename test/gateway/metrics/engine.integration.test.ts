import { describe, expect, it } from 'vitest';
import { Models } from '#gateway/index.js';
import { Metrics } from '#gateway/metrics/metrics.js';
import type { WatchedEngine } from '#gateway/models/served-model.js';
import { Scrape } from '../../support/metrics.js';

type Status = ReturnType<WatchedEngine['engine']['status']>;

/** An engine of which only the score side is used. */
function watch() {
  const state = { up: true, restarts: 0, waiting: 0 };
  let tell: (ms: number) => void = () => {};
  const engine: WatchedEngine['engine'] = {
    onPass: (listener) => {
      tell = listener;
      return () => {
        tell = () => {};
      };
    },
    status: (): Status => {
      const { up, restarts, waiting } = state;
      const score = up ? { pid: 7, device: 'cpu' as const } : { pid: 7, device: undefined };
      const decode = {
        pid: undefined,
        device: undefined,
        precision: 'fp32',
        restarts: 9,
        waiting: 9,
      } as const;
      return { streams: 0, decode, score: { ...decode, ...score, restarts, waiting } };
    },
  };
  const metrics = new Metrics();
  const inside = { provider: 'openai', engine: { engine, processes: ['score'] } } as const;
  const status = () => ({ ready: true });
  const stop = metrics.watch({
    models: new Models([{ name: 'm', status, inside, prepare: () => Promise.reject() }]),
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
});
