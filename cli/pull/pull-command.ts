import { Command } from 'commander';
import { Engine } from '../../src/engine/engine.js';
import { UsageError } from '../../src/files/file-errors.js';
import { parseHubModel } from '../../src/hub/hub-model.js';
import { tableOf } from '../doctor/doctor-finding.js';
import { modelsFindings } from '../doctor/doctor-models.js';
import { downloadModel } from '../hub-download.js';
import { knownModels } from '../known-models.js';
import { reportOpening } from '../opening-progress.js';
import { serveConfig } from '../serve/serve-config.js';
import { paint, say } from '../terminal.js';
import { formatBytes, heading } from '../terminal-format.js';
import { type SelfTest, selfTest } from './engine-self-test.js';

interface PullOptions {
  readonly gguf?: string;
  readonly verify?: true;
  readonly test: boolean;
  readonly list?: true;
  readonly json?: true;
}

export function pullCommand(): Command {
  return new Command('pull')
    .argument('[model]', 'OWNER/NAME of the Hugging Face hub, or OWNER/NAME@REVISION')
    .option('--gguf <file>', "this GGUF file of the model's, alone")
    .option('--verify', 'check the hashes of cached files again, and replace files that differ')
    .option('--no-test', 'do not let the model write and score a sentence')
    .option('--list', 'list models that fit, by memory')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `
Files go into the cache of the hub's own tools ($HF_HOME, ~/.cache/huggingface): nothing is
downloaded twice, an interrupted download continues, and each file is checked against its hash
when it is downloaded.
HF_ENDPOINT sets a mirror, HF_TOKEN is for models with restricted access, HF_HUB_OFFLINE=1 uses
the cache alone. Commands with --model take OWNER/NAME, too.

Examples:
  $ flinch pull HuggingFaceTB/SmolLM2-135M-Instruct
  $ flinch pull Qwen/Qwen2.5-0.5B-Instruct-GGUF \\
      --gguf qwen2.5-0.5b-instruct-q8_0.gguf
  $ flinch pull --list`,
    )
    .action(pull);
}

async function pull(
  model: string | undefined,
  { gguf, verify, test, list, json }: PullOptions,
): Promise<void> {
  if (list) return printKnown(json === true);
  if (model === undefined) throw new UsageError('a model is required: OWNER/NAME, or --list');
  const hubModel = parseHubModel(model);
  const { path, commit, bytes } = await downloadModel(hubModel, { gguf, verify });
  if (!json) paint(tableOf(await modelsFindings(await serveConfig({ model: path }, {}), {})));
  const tested = test ? await tryOut(path) : null;
  if (json) {
    say(`${JSON.stringify({ model: hubModel.id, commit, path, downloaded: bytes, test: tested })}\n`);
    return;
  }
  if (tested) {
    const { tokens, text, difference } = tested;
    const agreement = difference === 0 ? 'are the same' : `differ by at most ${difference.toPrecision(1)}`;
    const lines = [
      `${tokens} tokens written and scored, ${JSON.stringify(text.trim())}`,
      `scores of the stream and of the finished text ${agreement}`,
    ];
    say(`${heading('Self-test')}\n${lines.map((line) => `  ${line}\n`).join('')}`);
  }
  const named = gguf === undefined ? model : path;
  say(`\nServe it:  flinch serve --model ${named}\n`);
}

async function tryOut(path: string): Promise<SelfTest> {
  const engine = await Engine.open(path, reportOpening());
  try {
    return await selfTest(engine);
  } finally {
    await engine.close();
  }
}

/** Published in bf16, which is read as it is. */
const BYTES = 2e6;

function printKnown(json: boolean): void {
  const models = knownModels().map(({ million, ...rest }) => {
    return { ...rest, parameters: 1e6 * million, bytes: BYTES * million };
  });
  if (json) return void say(`${JSON.stringify(models)}\n`);
  const width = Math.max(...models.map(({ model }) => model.length));
  const lines = models.map(({ model, bytes, gated, tested }) => {
    const notes = [gated && 'access on request', tested && 'tested with its weights'].filter(Boolean);
    return `  ${model.padEnd(width)}  ${formatBytes(bytes).padStart(7)}  ${notes.join(', ')}`.trimEnd();
  });
  say(
    `${lines.join('\n')}\n\nAbout that much is downloaded and mapped into memory. Texts take more: see flinch doctor.\n`,
  );
}
