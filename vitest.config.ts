import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // Two cores: engine processes of parallel files would only slow each other down.
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // A machine under load is slow; what never comes true fails all the same.
    expect: { poll: { timeout: 30_000 } },
  },
});
