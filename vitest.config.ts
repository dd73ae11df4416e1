import { defineConfig } from 'vitest/config';
import { bundledProcesses } from './test/support/bundled-processes.js';
import { fastExports } from './test/support/fast-exports.js';

/** Tests run the sources: `#imports` and the packages of this repository resolve to `src` instead of `dist`. */
const conditions = ['flinch-source'];

export default defineConfig({
  plugins: [fastExports()],
  // Not `import`: Node would apply it to `require`, too.
  ssr: { resolve: { conditions: [...conditions, 'node'] } },
  test: {
    // One more than the two cores of a small machine: tests also wait.
    maxWorkers: 3,
    // A worker loads each module once, not once per file. Tests leave nothing behind in their process.
    isolate: false,
    reporters: ['default', './test/support/costly-files.ts'],
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['test/**/*.test.ts'],
          exclude: ['test/**/*.{integration,slow,peers}.test.ts'],
          // Milliseconds on a quiet machine; a loaded one is many times slower.
          testTimeout: 120_000,
          setupFiles: ['test/support/cpu-time.ts', 'test/support/unit-setup.ts'],
        },
      },
      // `npm run test:all` runs these, too: what takes long, and what a change of the product seldom breaks.
      ...(['integration', 'slow'] as const).map((name) => ({
        extends: true as const,
        plugins: [bundledProcesses()],
        test: {
          name,
          include: [`test/**/*.${name}.test.ts`],
          setupFiles: ['test/support/cpu-time.ts', 'test/support/integration-setup.ts'],
          // Ends what hangs. A loaded machine is many times slower than a quiet one.
          testTimeout: 600_000,
          hookTimeout: 600_000,
          expect: { poll: { timeout: 120_000 } },
        },
      })),
      {
        // Needs real servers and pretrained models (docs/how-to/peers.md); not a part of `npm test`.
        extends: true,
        plugins: [bundledProcesses()],
        test: {
          name: 'peers',
          include: ['test/**/*.peers.test.ts'],
          setupFiles: ['test/support/cpu-time.ts', 'test/support/integration-setup.ts'],
          fileParallelism: false,
          testTimeout: 1_200_000,
          hookTimeout: 1_200_000,
        },
      },
    ],
  },
});
