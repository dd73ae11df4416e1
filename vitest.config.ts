import { defineConfig } from 'vitest/config';

/** Tests run the sources: packages and `#imports` resolve to `src` instead of `dist`. */
const conditions = ['flinch-source'];

export default defineConfig({
  ssr: { resolve: { conditions: [...conditions, 'node', 'import', 'module', 'default'] } },
  resolve: { conditions },
  test: {
    include: ['test/**/*.test.ts'],
    // Engine processes that tests start run the sources, too.
    env: { NODE_OPTIONS: '--import tsx --conditions=flinch-source' },
    // Two cores: engine processes of parallel files would only slow each other down.
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // A machine under load is slow; what never comes true fails all the same.
    expect: { poll: { timeout: 30_000 } },
  },
});
