import { availableParallelism } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { Command, InvalidArgumentError } from 'commander';
import { openCheckpoint } from '../src/checkpoint/checkpoint.js';
import { SERVER_SCORES_FILE } from '../src/engine/server/score-servers.js';
import { UsageError } from '../src/files/file-errors.js';
import { localModel } from './local-model.js';
import { writableFolder } from './option-file.js';
import { say } from './terminal.js';

interface TritonOptions {
  readonly output: string;
  readonly name?: string;
}

export function exportCommand(): Command {
  return new Command('export').addCommand(
    new Command('triton')
      .description('Write a model repository for NVIDIA Triton, which then scores for `flinch serve`.')
      .argument('<model>', 'checkpoint folder')
      .requiredOption('--output <folder>', 'model repository; it may hold other models')
      .option(
        '--name <name>',
        'beginning of the names of its models (default: that of the checkpoint)',
        modelName,
      )
      .addHelpText(
        'after',
        `
It also writes ${SERVER_SCORES_FILE} into the checkpoint folder: scores that the server must compute as well.

Examples:
  $ flinch export triton ./qwen --output ./models --name qwen
  $ tritonserver --model-repository=./models \\
      --model-control-mode=explicit --load-model=qwen_sequence
  $ flinch serve --upstream http://127.0.0.1:9000/v1 --upstream-model qwen \\
      --scorer ./qwen --scorer-url http://127.0.0.1:8000 --scorer-model qwen`,
      )
      .action(exportTriton),
  );
}

async function exportTriton(
  model: string,
  { output, name = modelName(basename(resolve(model))) }: TritonOptions,
): Promise<void> {
  const checkpoint = await openCheckpoint(await localModel(model, null));
  if (checkpoint.gguf || checkpoint.quantized)
    throw new UsageError(`<model>: ${model} must be a checkpoint folder without quantised weights`);
  await writableFolder('<model>', join(checkpoint.dir, SERVER_SCORES_FILE));
  const { writeTritonRepository } = await import('../src/engine/server/write-repository.js');
  const written = await writeTritonRepository(checkpoint, {
    output,
    name,
    threads: availableParallelism(),
  });
  say(`${output}: ${written.models.join(', ')}; weights are ${written.weights}\n`);
  say(`${written.scores}: scores that the server must compute as well\n`);
}

function modelName(text: string): string {
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(text)) {
    throw new InvalidArgumentError('Must be of letters, digits, ".", "_" and "-".');
  }
  return text;
}
