import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { referencePages } from './pages.js';

/** `npm run reference`: writes docs/reference, in the folder of the package. */
const FOLDER = 'docs/reference';
const { version } = JSON.parse(await readFile('package.json', 'utf8'));
await mkdir(FOLDER, { recursive: true });
for (const [name, text] of Object.entries(await referencePages(String(version)))) {
  await writeFile(join(FOLDER, name), text);
}
