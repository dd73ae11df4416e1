/** State that gateways of flinch share, in Redis. A gateway with `state` in its configuration loads it. */
export { openState } from './open-state.js';
