import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The entry of `npm run lab`, for callers that start it as a process. */
export const LAB_ENTRY = fileURLToPath(new URL(`./main${extname(import.meta.url)}`, import.meta.url));
