import { expect, it } from 'vitest';
import { summarizeProfile } from '#lab/speed/profile.js';

const run = (ts: number, dur: number) => ({ name: 'model_run', ts, dur });
const kernel = (operator: string, ts: number, dur: number) => ({
  name: `${operator}_7_kernel_time`,
  ts,
  dur,
  args: { op_name: operator },
});

it('sums a profile by type of operator, without the first run', () => {
  const summary = summarizeProfile([
    run(0, 900_000),
    kernel('Gemm', 10, 800_000),
    run(1_000_000, 10_000),
    kernel('Gemm', 1_000_100, 5000),
    kernel('Gemm', 1_005_100, 2000),
    kernel('Mul', 1_007_100, 1000),
    { name: 'Gemm_7_fence_before', ts: 1_000_050, dur: 50_000, args: { op_name: 'Gemm' } },
    run(2_000_000, 12_000),
    kernel('Gemm', 2_000_100, 5000),
    kernel('Gemm', 2_005_100, 2000),
    kernel('Mul', 2_007_100, 1000),
  ]);
  expect(summary).toEqual({
    milliseconds: 11,
    inOperators: 8,
    operators: [
      { operator: 'Gemm', nodes: 2, milliseconds: 7, share: 7 / 8 },
      { operator: 'Mul', nodes: 1, milliseconds: 1, share: 1 / 8 },
    ],
  });
  expect(() => summarizeProfile([run(0, 1)])).toThrow('two runs');
});
