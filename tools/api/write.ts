import { readFile, writeFile } from 'node:fs/promises';
import { openApi } from './openapi.js';

/** `npm run schemas`: writes the file that follows from the schemas. The working directory is the repository. */
const { version } = JSON.parse(await readFile('package.json', 'utf8'));
await writeFile('gateway/openapi.json', `${JSON.stringify(openApi(version), null, 2)}\n`);
