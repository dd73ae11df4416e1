import { byTime } from './limits.js';
import { fuzzPolicy } from './policy.js';

fuzzPolicy(byTime(20));
