/** What gateways of flinch share, in Redis. A gateway whose configuration has `state` loads it. */
export { openState } from './open-state.js';
