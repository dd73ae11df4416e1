import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { measure } from '#lab/agreement/agreement-command.js';
import type { AgreementReport } from '#lab/agreement/agreement-report.js';
import { scriptFile } from '#lab/agreement/peer-scripts.js';
import { checkpointOf, peersFolder, pythonOf } from '#lab/peers/folder.js';
import { needs } from '../support/peers.js';

const MINILM = join(peersFolder(), 'models', 'minilm');
const { missing, reason } = needs(
  ...['vllm', 'polygraph', 'uqlm', 'thinkbooster'].map(pythonOf),
  checkpointOf('smollm2'),
  join(MINILM, 'modules.json'),
  join(MINILM, 'onnx', 'model.onnx'),
);

describe.skipIf(missing)(`measures of the same answers${reason}`, () => {
  let report: AgreementReport;
  beforeAll(async () => {
    const folder = await mkdtemp(join(tmpdir(), 'flinch-agreement-'));
    try {
      const answers = scriptFile('answers.jsonl');
      report = await measure({ answers, model: checkpointOf('smollm2'), minilm: MINILM }, folder);
    } finally {
      await rm(folder, { recursive: true });
    }
  }, 3_600_000);

  // Largest differences. Flinch's sum of a vocabulary's exponentials in float32 is 5e-6 too small, more or less; numbers
  // that do not depend on it agree better.
  it.each([
    ['lm-polygraph', 'log-likelihood', 'nll', 1e-4],
    ['lm-polygraph', 'TokenEntropy', 'entropy', 1e-4],
    ['lm-polygraph', 'MaximumSequenceProbability', 'sum of nll', 3e-3],
    ['lm-polygraph', 'Perplexity', 'mean of nll', 3e-5],
    ['lm-polygraph', 'Perplexity, with the end token', 'mean of nll, with the end token', 3e-5],
    ['lm-polygraph', 'MeanTokenEntropy', 'mean of entropy', 1e-4],
    ['lm-polygraph', 'MeanTokenEntropy, with the end token', 'mean of entropy, with the end token', 1e-4],
    ['lm-polygraph', '−log CCP', "ccp by lm-polygraph's rules", 1e-4],
    ['lm-polygraph', 'TokenSAR', 'token_sar', 1e-4],
    ['uqlm', 'sequence_probability', 'exp(−mean of nll)', 3e-5],
    ['uqlm', 'min_probability', 'exp(−largest nll)', 1e-5],
    ['uqlm', 'probability_margin, temperature 0', '1 − mean of margin', 3e-5],
    ['uqlm', 'mean_token_negentropy', 'the same, of the 15 most probable tokens', 1e-5],
    ['uqlm', 'monte_carlo_probability', 'mean of exp(−mean of nll)', 3e-5],
    ['uqlm', 'cosine similarity', 'cosines of embeddings', 1e-5],
    ['uqlm', 'closeness_centrality', 'closeness, as networkx scales it', 1e-5],
    ['thinkbooster', 'PDGap, temperature 0', 'mean of margin', 3e-5],
    ['thinkbooster', 'DeepConf entropy', 'the same, of the 20 most probable tokens', 1e-4],
  ])('%s: %s is %s', (peer, measure, ours, most) => {
    const row = report.rows.find((one) => one.peer === peer && one.measure === measure && one.ours === ours);
    expect(row?.deviation.max).toBeLessThan(most);
  });
});
