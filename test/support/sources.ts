import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The TypeScript sources below folders of the repository, for rules that no linter knows. */
export const sources = (...folders: readonly string[]): { readonly file: string; readonly text: string }[] =>
  folders
    .flatMap((folder) => readdirSync(folder, { recursive: true }).map((name) => join(folder, String(name))))
    .filter((file) => /\.tsx?$/.test(file) && !/(^|\/)(node_modules|dist)\//.test(file))
    .toSorted()
    .map((file) => ({ file, text: readFileSync(file, 'utf8') }));
