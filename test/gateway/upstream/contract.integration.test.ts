import { upstreamContract } from '../../support/upstream-contract.js';
import { doubles } from '../../support/upstream-subjects.js';

for (const double of doubles) upstreamContract(double);
