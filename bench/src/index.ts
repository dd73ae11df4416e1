/** flinch's benchmark. `flinch bench` and `flinch data` load it when it is installed. */
export { benchCommand } from './bench-command.js';
export { dataCommand } from './data/data-command.js';
