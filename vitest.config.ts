import { defineConfig } from 'vitest/config';

/** Tests run the sources: `#imports` and the packages of this repository resolve to `src` instead of `dist`. */
const conditions = ['flinch-source'];

export default defineConfig({
  ssr: { resolve: { conditions: [...conditions, 'node'] } },
  test: {
    // Two cores: engine processes of parallel files would only slow each other down.
    maxWorkers: 2,
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['test/**/*.test.ts'],
          exclude: ['test/**/*.integration.test.ts'],
          setupFiles: ['test/support/unit-setup.ts'],
        },
      },
      {
        extends: true,
        test: {
          name: 'integration',
          include: ['test/**/*.integration.test.ts'],
          // Engine processes that tests start run the sources, too.
          env: { NODE_OPTIONS: `--import tsx --conditions=${conditions}` },
          testTimeout: 60_000,
          hookTimeout: 60_000,
          // A machine under load is slow; what never comes true fails all the same.
          expect: { poll: { timeout: 30_000 } },
        },
      },
    ],
  },
});
