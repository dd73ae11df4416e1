import { writeFileSync } from 'node:fs';
import { resultTables } from './support/result-tables.js';
writeFileSync(process.argv[2]!, JSON.stringify([...resultTables()]));
