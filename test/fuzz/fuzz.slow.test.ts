import { fuzzTargets } from './fuzz-targets.js';
import { byTime } from './limits.js';

fuzzTargets(byTime(5));
