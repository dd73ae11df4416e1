import { afterAll } from 'vitest';
import { closeSharedEngines } from './shared-engines.js';

// The hook is here because this file is run again for each test file; modules are loaded once.
afterAll(closeSharedEngines);
