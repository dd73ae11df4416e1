import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { Checkpoint } from '#src/checkpoint/checkpoint.js';
import type { PassSize } from '#src/cost/products.js';
import { runScorePass } from '#src/engine/child/score-pass.js';
import { runtimeOf } from '#src/engine/child/sequence-run.js';
import { KvCache } from '#src/engine/kv-cache.js';
import { openSession } from '#src/engine/ort-session.js';
import { buildScoreGraph } from '#src/graphs/score-graph.js';
import { DEFAULT_SCORING } from '#src/uncertainty/settings.js';

export interface OperatorTime {
  readonly operator: string;
  /** Nodes of this type in the graph as onnxruntime optimized it. */
  readonly nodes: number;
  /** Time of one run. */
  readonly milliseconds: number;
  /** Share of the time in all operators. */
  readonly share: number;
}

export interface Profile extends PassSize {
  /** One run, and how much of it was spent inside operators. */
  readonly milliseconds: number;
  readonly inOperators: number;
  readonly operators: readonly OperatorTime[];
}

const RUNS = 6;

/** Time of a score pass by type of operator. Profiling itself costs a little. */
export async function profilePass(
  checkpoint: Checkpoint,
  size: PassSize,
  { threads, folder }: { readonly threads: number; readonly folder: string },
): Promise<Profile> {
  const { config } = checkpoint;
  const { window, past, scored } = size;
  const prefix = `profile-${window}-${past}`;
  const graph = buildScoreGraph(checkpoint, { sequences: 1, form: 'perturb' });
  const session = await openSession(graph, { threads, profile: join(folder, prefix) });
  const runtime = runtimeOf({ source: checkpoint, threads });
  const cache = new KvCache(config, past + window);
  cache.reserve(past + window);
  const held = new Float32Array(past * config.kvHeads * config.headDim).fill(0.1);
  cache.write(0, past, Array<Float32Array>(2 * config.layers).fill(held));
  const ids = Array.from({ length: window }, (_, i) => (i * 7919) % config.vocabSize);
  const targets = ids.slice(-scored);
  const part = { cache, start: past, ids, targets, attacked: targets.map(() => true) };
  for (let run = 0; run < RUNS; run++) {
    await runScorePass(session, runtime, [part], { form: 'perturb', alpha: DEFAULT_SCORING.alpha });
  }
  session.endProfiling();
  const file = (await readdir(folder)).find((name) => name.startsWith(prefix));
  if (file === undefined) throw new Error('profile: onnxruntime wrote none');
  return { ...size, ...summarizeProfile(JSON.parse(await readFile(join(folder, file), 'utf8'))) };
}

const eventsSchema = z.array(
  z.object({
    name: z.string(),
    /** Microseconds. */
    ts: z.number(),
    dur: z.number(),
    args: z.object({ op_name: z.string().optional() }).optional(),
  }),
);

/** @param json a profile of onnxruntime: Chrome's trace events, of at least two runs, of which the first is left out */
export function summarizeProfile(json: unknown): Pick<Profile, 'milliseconds' | 'inOperators' | 'operators'> {
  const events = eventsSchema.parse(json);
  const [, ...runs] = events.filter(({ name }) => name === 'model_run').sort((a, b) => a.ts - b.ts);
  const start = runs[0]?.ts;
  if (start === undefined) throw new Error('profile: needs at least two runs');
  const perRun = 1 / (1000 * runs.length);
  const times = new Map<string, { microseconds: number; count: number }>();
  let all = 0;
  for (const { name, ts, dur, args } of events) {
    const operator = args?.op_name;
    if (operator === undefined || ts < start || !name.endsWith('_kernel_time')) continue;
    const time = times.get(operator) ?? { microseconds: 0, count: 0 };
    time.microseconds += dur;
    time.count += 1;
    times.set(operator, time);
    all += dur;
  }
  const operators = [...times].map(([operator, { microseconds, count }]) => ({
    operator,
    nodes: Math.round(count / runs.length),
    milliseconds: microseconds * perRun,
    share: microseconds / all,
  }));
  return {
    milliseconds: runs.reduce((sum, { dur }) => sum + dur, 0) * perRun,
    inOperators: all * perRun,
    operators: operators.sort((a, b) => b.share - a.share),
  };
}
