import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The entry of the command `flinch`, for callers that start it as a process. */
export const CLI_ENTRY = fileURLToPath(new URL(`./main${extname(import.meta.url)}`, import.meta.url));
