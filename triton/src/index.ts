/**
 * Scoring on NVIDIA Triton and other inference servers. The score process of a model with `scorer_url`, and
 * `flinch export triton`, load it.
 */
export { openServers } from './open-servers.js';
export { writeTritonRepository } from './write-repository.js';
