import { debuglog } from 'node:util';

/** `NODE_DEBUG=flinch:engine` prints what the engine and its processes do, on standard error; never text or ids. */
export const debug = debuglog('flinch:engine');
