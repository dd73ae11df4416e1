/** `npm run fuzz -- [TARGET] [--minutes N] [--seed S]`: each target for so long, or one, with inputs drawn anew. */
import { spawnSync } from 'node:child_process';
import { parseArgs } from 'node:util';

const {
  values: { minutes, seed = '' },
  positionals: [target],
} = parseArgs({
  options: { minutes: { type: 'string', default: '10' }, seed: { type: 'string' } },
  allowPositionals: true,
});
const args = [
  'vitest',
  'run',
  '--project',
  'slow',
  'test/fuzz',
  '--testTimeout',
  '0',
  '--disable-console-intercept',
];
const { status } = spawnSync('npx', [...args, ...(target ? ['-t', ` ${target}$`] : [])], {
  stdio: 'inherit',
  env: { ...process.env, FUZZ_MINUTES: minutes, FUZZ_SEED: seed },
});
process.exit(status ?? 1);
