import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { type DrawnTensor, writeTensors } from '../speed/random-checkpoint.js';

interface Merge {
  /** A checkpoint; its configuration and weights are taken. */
  readonly base: string;
  /** Weights of it that are not. */
  readonly without: ReadonlySet<string>;
  /** A safetensors file with what takes their place. */
  readonly added: string;
  /** `quantization_config` */
  readonly settings: object;
  /** The folder that is written to. */
  readonly to: string;
}

/** Writes a quantised checkpoint that is stored as one that is not, and its quantised matrices. */
export async function mergedSafetensors({ base, without, added, settings, to }: Merge): Promise<void> {
  const files = (await readdir(base)).filter((name) => name.endsWith('.safetensors'));
  const plain = await Promise.all(files.map((name) => readTensors(join(base, name))));
  const kept = plain.flat().filter(({ name }) => !without.has(name));
  await writeTensors(to, [...kept, ...(await readTensors(added))]);
  const config = JSON.parse(await readFile(join(base, 'config.json'), 'utf8'));
  await writeFile(join(to, 'config.json'), JSON.stringify({ ...config, quantization_config: settings }));
}

const entrySchema = z.object({
  dtype: z.string(),
  shape: z.array(z.int()),
  data_offsets: z.tuple([z.int(), z.int()]),
});

/** Tensors of a small file, also of types that flinch does not compute with. */
async function readTensors(file: string): Promise<DrawnTensor[]> {
  const bytes = await readFile(file);
  const start = 8 + Number(bytes.readBigUInt64LE(0));
  const { __metadata__: _, ...header } = JSON.parse(bytes.toString('utf8', 8, start));
  return Object.entries(z.record(z.string(), entrySchema).parse(header)).map(
    ([
      name,
      {
        dtype,
        shape,
        data_offsets: [from, to],
      },
    ]) => ({
      name,
      dtype,
      shape,
      byteLength: to - from,
      parts: () => [bytes.subarray(start + from, start + to)],
    }),
  );
}
