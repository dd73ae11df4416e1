import { mappedFile, type ProcessMemory, processMemory } from '#bench/process-memory.js';
import type { Engine } from '#src/engine/engine.js';

export interface EngineMemory {
  readonly process: ProcessMemory | null;
  /** The weights file as mapped into the process. */
  readonly weights: { readonly resident: number; readonly private: number } | null;
}

/** `null` for a process that does not run. */
export interface EnginesMemory {
  readonly decode: EngineMemory | null;
  readonly score: EngineMemory | null;
}

export async function enginesMemory(engine: Engine): Promise<EnginesMemory> {
  const { decode, score } = engine.status();
  const [weights] = [...engine.checkpoint.tensors.values()].map(({ file }) => file);
  const of = async (pid: number | undefined): Promise<EngineMemory | null> =>
    pid === undefined
      ? null
      : {
          process: await processMemory(pid),
          weights: weights === undefined ? null : await mappedFile(pid, weights),
        };
  return { decode: await of(decode.pid), score: await of(score.pid) };
}
