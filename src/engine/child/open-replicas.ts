import type { ReplicaOptions } from '../protocol.js';
import { NoiseReplicas } from './noise-replicas.js';
import type { ReplicaContext, Replicas } from './replicas.js';
import { TokurReplicas } from './tokur-replicas.js';

export function openReplicas(options: ReplicaOptions, context: ReplicaContext): Replicas {
  return options.kind === 'noise' ? new NoiseReplicas(options, context) : new TokurReplicas(options, context);
}
