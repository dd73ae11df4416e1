import type { ModelConfig } from '../../src/checkpoint/config.js';
import type { ModelFacts } from '../model-facts.js';
import { formatBytes } from '../terminal-format.js';

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

/** The vocabulary of a model, what ends its answers, how it is asked, and how long a text may be. */
export const tokenWords = ({ config, tokens, ends, chatTemplate }: ModelFacts): string =>
  [
    `${tokens} of ${config.vocabSize} rows`,
    `ends with ${ends.join(' or ') || 'nothing'}`,
    chatTemplate ? 'chat template' : 'no chat template (raw prompts only)',
    `${config.maxPositions} positions${longTexts(config)}`,
  ].join('; ');

const longTexts = ({ ropes }: ModelConfig): string =>
  ropes[0]?.scaling?.type === 'longrope' ? ' (long_factor, for longer texts, is not supported)' : '';
