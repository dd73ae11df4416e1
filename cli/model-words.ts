import type { ModelConfig } from '../src/checkpoint/config.js';
import { formatBytes } from './format.js';
import type { ModelFacts } from './model-facts.js';

/** What a model is, and how its weights are stored. */
export function weightWords(facts: ModelFacts): string {
  const { config, parameters, types, integers, float8, weightBytes, gguf, quantized } = facts;
  const millions = parameters / 1e6;
  const size = millions < 1000 ? `${millions.toFixed(2)} M` : `${(millions / 1000).toFixed(2)} B`;
  const stored = [...(integers ? ['integers'] : []), ...(float8 ? ['FP8'] : []), ...types].join(', ');
  const words = [
    config.family,
    `${size} parameters stored as ${stored}`,
    `weights of ${formatBytes(weightBytes)}, mapped from files`,
  ];
  if (gguf) {
    const tensors = Object.entries(gguf.types).map(([type, count]) => `${count} ${type}`);
    words.push(`GGUF with tensors ${tensors.join(', ')} and ${gguf.bitsPerWeight.toFixed(2)} bits a weight`);
  }
  if (quantized) {
    const { format, matrices, bitsPerWeight } = quantized;
    const share = `${matrices[0]} of ${matrices[1]} matrices`;
    words.push(`quantised by ${format}: ${share}, ${bitsPerWeight.toFixed(2)} bits a weight`);
  }
  if (integers || float8) words.push('what graphs cannot read as stored is converted once');
  return words.join('; ');
}

/** The layers of a model: sizes, attention, rotation, context. */
export function layerWords(config: ModelConfig): string {
  const { layers, hiddenSize, intermediateSize, heads, headDim, kvHeads, maxPositions, ropes } = config;
  const limit =
    ropes[0]!.scaling?.type === 'longrope' ? ' (long_factor, for longer texts, is not supported)' : '';
  return [
    `${layers} layers, hidden ${hiddenSize}, feed-forward ${intermediateSize}`,
    `${heads} heads of ${headDim}, ${kvHeads} for keys and values`,
    ...windowWords(config),
    ...rotationWords(config),
    `${maxPositions} positions${limit}`,
  ].join('; ');
}

function windowWords({ slidingWindow, layers }: ModelConfig): string[] {
  const windows = slidingWindow.filter((window) => window !== null);
  return windows.length === 0
    ? []
    : [`the last ${windows[0]} positions in ${windows.length} of ${layers} layers`];
}

function rotationWords({ ropes, layerRopes, headDim, layers }: ModelConfig): string[] {
  const parts = ropes.map(({ theta, dimensions, scaling }, i) => {
    const scaled = scaling ? `, ${scaling.type}` : '';
    const share = dimensions === headDim ? '' : `, ${dimensions} of ${headDim} dimensions`;
    return `θ ${theta}${scaled}${share}${i === 1 ? ' in layers with a window' : ''}`;
  });
  const without = layerRopes.filter((rope) => rope === null).length;
  return [...parts, ...(without > 0 ? [`no rotation in ${without} of ${layers} layers`] : [])];
}

/** The vocabulary of a model, what ends its answers, and how it is asked. */
export const tokenWords = ({ config, tokens, ends, chatTemplate }: ModelFacts): string =>
  [
    `${tokens} of ${config.vocabSize} rows`,
    `ends with ${ends.join(' or ') || 'nothing'}`,
    chatTemplate ? 'chat template' : 'no chat template (raw prompts only)',
  ].join('; ');
