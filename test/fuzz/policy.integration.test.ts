import { byCount } from './limits.js';
import { fuzzPolicy } from './policy.js';

fuzzPolicy(byCount(40));
