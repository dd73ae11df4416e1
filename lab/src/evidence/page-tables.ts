import { UsageError } from '#src/files/file-errors.js';

/** A comment that names a table, and the table after it. */
const PLACE = /<!-- table: (.+) -->\n\n((?:\|.*\n)*)/g;

/** A page with its tables written anew. @throws UsageError for a table that the data do not have */
export const withTables = (page: string, tables: ReadonlyMap<string, string>): string =>
  page.replace(PLACE, (_, name: string, before: string) => {
    const made = tables.get(name);
    if (made === undefined)
      throw new UsageError(`there is no table ${name}; there are: ${[...tables.keys()].join('; ')}`);
    return `<!-- table: ${name} -->\n\n${made}\n${before === '' ? '\n' : ''}`;
  });
