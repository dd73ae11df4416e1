import { describe, expect, it } from 'vitest';
import { Metrics } from '#gateway/metrics/metrics.js';
