import { fuzzTargets } from './fuzz-targets.js';
import { byCount } from './limits.js';

fuzzTargets(byCount(25));
