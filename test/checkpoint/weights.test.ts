import { describe, expect, it } from 'vitest';
import { type ModelConfig, parseConfig } from '#src/checkpoint/config.js';
import { type FileTensor, readSafetensors } from '#src/checkpoint/safetensors.js';
import {
  checkTensors,
  expectedTensors,
  splitFused,
  storedTensors,
  type Weights,
  weightsIn,
} from '#src/checkpoint/weights.js';
import { FAMILY_CHECKPOINTS } from '../support/golden.js';
import { FIXTURES, fixture, json, modelError, REASONER } from '../support/graphs.js';
import { storedWeight } from '../support/weights.js';

const configOf = async (dir: string) => parseConfig(await json(dir, 'config.json'), 'config.json');
const shapesOf = (tensors: Weights) =>
  Object.fromEntries([...tensors].map(([name, { shape }]) => [name, shape]));

describe('expectedTensors', () => {
  it.each([...[...FIXTURES, ...FAMILY_CHECKPOINTS].map(fixture), REASONER])(
    'lists the tensors of %s, no more and no fewer',
    async (dir) => {
      const config = await configOf(dir);
      const stored = weightsIn(await readSafetensors(dir));
      expect(Object.fromEntries(storedTensors(config))).toEqual(shapesOf(stored));
      expect(Object.fromEntries(expectedTensors(config))).toEqual(shapesOf(splitFused(config, stored)));
    },
  );

  it('takes a fused matrix apart by rows, without a gap', async () => {
    const config = await configOf(fixture('tiny-phi3'));
    const stored = await readSafetensors(fixture('tiny-phi3'));
    const tensors = splitFused(config, weightsIn(stored));
    const name = 'model.layers.1.self_attn';
    const whole = stored.get(`${name}.qkv_proj.weight`)!;
    let end = whole.offset;
    for (const part of ['q_proj', 'k_proj', 'v_proj']) {
      const tensor = storedWeight({ tensors }, `${name}.${part}.weight`);
      expect(tensor).toMatchObject({ file: whole.file, type: 'fp16', offset: end });
      expect(tensor.byteLength).toBe(2 * tensor.shape[0]! * tensor.shape[1]!);
      end += tensor.byteLength;
    }
    expect(end).toBe(whole.offset + whole.byteLength);
  });

  it('has biases where the family has them', async () => {
    const config: ModelConfig = {
      ...(await configOf(fixture('tiny-llama'))),
      outputBias: true,
      mlpBias: true,
    };
    const expected = expectedTensors(config);
    expect(expected.get('model.layers.2.self_attn.o_proj.bias')).toEqual([32]);
    expect(expected.get('model.layers.2.mlp.gate_proj.bias')).toEqual([64]);
    expect(expected.get('model.layers.2.mlp.down_proj.bias')).toEqual([32]);
    expect(expected.has('model.layers.2.self_attn.q_proj.bias')).toBe(false);
  });
});

describe('checkTensors', () => {
  const dir = fixture('tiny-llama');
  const name = 'model.layers.1.mlp.up_proj.weight';

  const changed = async (change: (tensors: Map<string, FileTensor>) => void) => {
    const tensors = new Map(await readSafetensors(dir));
    change(tensors);
    return tensors;
  };

  it('passes over tensors that nobody needs', async () => {
    const tensors = await changed((map) => map.set('extra', { ...map.get(name)!, name: 'extra' }));
    const config = await configOf(dir);
    expect(() => checkTensors(config, tensors, dir)).not.toThrow();
    // Tied, the head in the file is such a tensor.
    expect(() => checkTensors({ ...config, tieWordEmbeddings: true }, tensors, dir)).not.toThrow();
  });

  it('refuses a missing tensor by name', async () => {
    const tensors = await changed((map) => map.delete(name));
    const error = await modelError(async () => checkTensors(await configOf(dir), tensors, dir));
    expect(error).toMatchObject({ file: dir, field: name });
    expect(error.message).toMatch(/is missing from the weights \(expected \[64,32\]\)/);
  });

  it.each([[[32, 64]], [[64]], [[64, 32, 1]]])('refuses the shape %j and says both', async (shape) => {
    const tensors = await changed((map) => map.set(name, { ...map.get(name)!, shape }));
    const error = await modelError(async () => checkTensors(await configOf(dir), tensors, dir));
    expect(error).toMatchObject({ file: tensors.get(name)?.file, field: name });
    expect(error.message).toContain(`has shape ${JSON.stringify(shape)}, config.json implies [64,32]`);
  });

  it('refuses a needed tensor of a type that weights cannot have', async () => {
    const tensors = await changed((map) => map.set(name, { ...map.get(name)!, dtype: 'I8', type: null }));
    const error = await modelError(async () => checkTensors(await configOf(dir), tensors, dir));
    expect(error).toMatchObject({ field: name });
    expect(error.message).toMatch(/is stored as I8 \(supported: F32, BF16, F16\)/);
  });
});
