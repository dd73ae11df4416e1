import { describe, expect, it } from 'vitest';
import { openCheckpoint } from '#src/checkpoint/checkpoint.js';
import { buildScoreGraph } from '#src/graphs/score-graph.js';
import { checkpointFolder } from '../support/golden.js';

const source = await openCheckpoint(checkpointFolder('tiny-llama'));

describe('a score graph for any number of sequences', () => {
  const graph = buildScoreGraph(source, { sequences: 'any', form: 'perturb' });
  const ofLayers = (layers: number, sequences: number | 'any'): number => {
    const config = { ...source.config, layers };
    return buildScoreGraph({ ...source, config }, { sequences, form: 'perturb' }).nodes.length;
  };

  it('has one input and one output for all keys and values', () => {
    expect(graph.inputs.map(({ name }) => name).filter((name) => name.includes('past'))).toEqual([
      'past',
      'past_positions',
    ]);
    expect(graph.inputs).toHaveLength(10);
    expect(graph.outputs.map(({ name }) => name).filter((name) => name.includes('window'))).toEqual([
      'window',
    ]);
  });

  it('takes them from a store where they stay on the device, and is the same otherwise', () => {
    const resident = buildScoreGraph(source, { sequences: 'resident', form: 'perturb' });
    const names = resident.inputs.map(({ name }) => name);
    expect(names.filter((name) => !graph.inputs.some((input) => input.name === name))).toEqual([
      'store',
      'slots',
    ]);
    expect(resident.nodes).toHaveLength(graph.nodes.length + 1);
  });

  it('has no more operators a layer than a graph for one', () => {
    const added = (sequences: number | 'any') => ofLayers(2, sequences) - ofLayers(1, sequences);
    expect(added('any')).toBe(160);
    expect(added(1)).toBe(173);
    expect(added(4)).toBeGreaterThan(2 * added('any'));
  });
});
