import { describe, expect, it } from 'vitest';
import { Sessions } from '#src/engine/child/graph-sessions.js';
import { openCheckpoint } from '#src/index.js';
import { REASONER } from '../../support/golden.js';

const source = await openCheckpoint(REASONER);

describe('sequences in one run', () => {
  it.each([
    ['cpu', [1, 2, 2, 4, 16]],
    ['webgpu', [1, 2, 2, 4, 4]],
    ['cuda', [1, 2, 3, 4, 40]],
  ] as const)('%s', (device, expected) => {
    const sessions = new Sessions(source, { threads: 1, device });
    expect([1, 2, 3, 4, 40].map((waiting) => sessions.batchSize(waiting))).toEqual(expected);
    expect(sessions.batchSize(40, 3)).toBe(device === 'cuda' ? 40 : 2);
  });
});
