import { readFile, writeFile } from 'node:fs/promises';
import { methodList } from './method-list.js';

/** `npm run schemas`: writes the files that follow from the schemas. The working directory is the repository. */
const { version } = JSON.parse(await readFile('package.json', 'utf8'));
await writeFile('client/src/client-methods.ts', methodList());
// These read the client's schemas, and with them the list of methods.
const { eventTypes, generationRequestType, guardRequestType } = await import('./client-types.js');
const { openApi } = await import('./openapi.js');
await writeFile('gateway/openapi.json', `${JSON.stringify(openApi(version), null, 2)}\n`);
await writeFile('client/src/guard-request.ts', guardRequestType());
await writeFile('client/src/client-request.ts', generationRequestType());
await writeFile('client/src/event-types.ts', eventTypes());
