import { setVersion } from './set-version.js';

/** `npm run set-version -- 0.2.0`: the working directory is the repository. */
const [version = ''] = process.argv.slice(2);
if (!/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version)) {
  console.error('usage: npm run set-version -- MAJOR.MINOR.PATCH');
  process.exit(2);
}
setVersion('.', version);
