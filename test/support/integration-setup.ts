import { afterAll } from 'vitest';
import { closeSharedEngines } from './shared-engines.js';

// Here, for this file is run again for each test file; modules are loaded once.
afterAll(closeSharedEngines);
