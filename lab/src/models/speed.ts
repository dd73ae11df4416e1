import { mkdir, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { lastValueFrom, tap } from 'rxjs';
import { Engine } from '#src/engine/engine.js';
import type { Precision } from '#src/engine/precision.js';
import { scoredGeneration } from '#src/stream/scored-generation.js';
import { DEFAULT_SCORING } from '#src/uncertainty/settings.js';
import { memoryOf } from '../speed/contestant.js';
import { type Shape, writeRandomCheckpoint } from '../speed/random-checkpoint.js';
import { GGUF_FORMATS, type GgufFormat, writeRandomGguf } from '../speed/random-gguf.js';
import { QUANTIZED_FORMATS, type QuantizedFormat, writeRandomQuantized } from '../speed/random-quantized.js';
import { endlessRequest } from '../speed/streams.js';

const CHECKPOINTS = { 'F32 safetensors': 'fp32', 'BF16 safetensors': 'bf16' } as const;
type CheckpointFormat = keyof typeof CHECKPOINTS;
export type Format = CheckpointFormat | `${GgufFormat} GGUF` | QuantizedFormat;

const GGUF_OF: ReadonlyMap<string, GgufFormat> = new Map(
  GGUF_FORMATS.map((format) => [`${format} GGUF`, format]),
);
const isCheckpoint = (format: string): format is CheckpointFormat => format in CHECKPOINTS;
const isQuantized = (format: string): format is QuantizedFormat =>
  QUANTIZED_FORMATS.some((known) => known === format);

export const FORMATS: readonly string[] = [
  ...Object.keys(CHECKPOINTS),
  ...GGUF_OF.keys(),
  ...QUANTIZED_FORMATS,
];

export interface SpeedRow {
  readonly format: string;
  readonly precision: Precision;
  /** Size of the model as it is stored. */
  readonly fileBytes: number;
  /** Size of the weights as they are mapped. */
  readonly weightBytes: number;
  /** Speed of one stream, one number for each round. */
  readonly written: readonly number[];
  readonly scored: readonly number[];
  /**
   * Memory of both processes after a scored stream, weights included; the last round's. `null` if it is
   * unknown.
   */
  readonly memoryBytes: number | null;
}

export interface SpeedOptions {
  readonly formats: readonly string[];
  readonly tokens: number;
  readonly rounds: number;
  readonly onTurn: () => void;
}

const PRECISIONS = ['fp32', 'int8'] as const;
const WARM_UP_TOKENS = 8;

/** Turns of {@link measureSpeeds}. */
export const turnsOf = ({ formats, rounds }: Pick<SpeedOptions, 'formats' | 'rounds'>): number =>
  formats.length * (1 + rounds * PRECISIONS.length);

/**
 * Each format in each precision in turn, round after round, alone on the machine.
 * @param folder for the files, and for the cache of what is made of them
 */
export async function measureSpeeds(
  shape: Shape,
  folder: string,
  { formats, tokens, rounds, onTurn }: SpeedOptions,
): Promise<SpeedRow[]> {
  const models = new Map<string, string>();
  for (const format of formats) {
    models.set(format, await writeModel(format, shape, folder));
    onTurn();
  }
  const rows = new Map<string, SpeedRow>();
  for (let round = 0; round < rounds; round++) {
    for (const [format, model] of models) {
      for (const precision of PRECISIONS) {
        const key = `${format} ${precision}`;
        const turn = await measureOnce(model, precision, tokens);
        const before = rows.get(key);
        rows.set(key, {
          format,
          precision,
          fileBytes: await bytesOf(model),
          weightBytes: turn.weightBytes,
          written: [...(before?.written ?? []), turn.written],
          scored: [...(before?.scored ?? []), turn.scored],
          memoryBytes: turn.memoryBytes,
        });
        onTurn();
      }
    }
  }
  return [...rows.values()];
}

async function writeModel(format: string, shape: Shape, folder: string): Promise<string> {
  const gguf = GGUF_OF.get(format);
  const path = join(folder, format.replaceAll(' ', '-'));
  if (gguf) {
    await writeRandomGguf(`${path}.gguf`, shape, { format: gguf, seed: 1 });
    return `${path}.gguf`;
  }
  await mkdir(path);
  if (isCheckpoint(format)) await writeRandomCheckpoint(path, shape, { type: CHECKPOINTS[format], seed: 1 });
  else if (isQuantized(format)) await writeRandomQuantized(path, shape, { format, seed: 1 });
  return path;
}

async function measureOnce(model: string, precision: Precision, tokens: number) {
  const engine = await Engine.open(model, { precision });
  try {
    await stream(engine, WARM_UP_TOKENS, true);
    const written = await stream(engine, tokens, false);
    const scored = await stream(engine, tokens, true);
    const { decode, score } = engine.status();
    const memoryBytes = await memoryOf([decode, score].flatMap(({ pid }) => pid ?? []));
    return { written, scored, memoryBytes, weightBytes: engine.checkpoint.weightBytes };
  } finally {
    await engine.close();
  }
}

/** @returns tokens per second, from the request to the last token or score */
async function stream(engine: Engine, tokens: number, scored: boolean): Promise<number> {
  const counted = scored ? 'score.delta' : 'token.delta';
  let count = 0;
  const start = performance.now();
  const events = scoredGeneration(engine, endlessRequest(engine, tokens), scored ? DEFAULT_SCORING : null);
  await lastValueFrom(events.pipe(tap(({ type }) => (count += type === counted ? 1 : 0))));
  if (count !== tokens) throw new Error(`bench: ${count} of ${tokens}`);
  return (1000 * tokens) / (performance.now() - start);
}

/** Size of a file, or of the weights in a folder. */
async function bytesOf(model: string): Promise<number> {
  const { size } = await stat(model).then(async (found) =>
    found.isFile()
      ? found
      : stat(join(model, (await readdir(model)).find((name) => name.endsWith('.safetensors'))!)),
  );
  return size;
}
