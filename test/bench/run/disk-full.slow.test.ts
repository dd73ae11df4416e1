import { execFile, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { CLI_ENTRY } from '#cli/entry.js';
import { useBenchRuns } from '../../support/bench-runs.js';
import { REASONER } from '../../support/golden.js';

const { folder, ...runs } = useBenchRuns();

/** A shell with a disk of its own, which no other process sees. */
const MOUNTS = ['--user', '--map-root-user', '--mount'];
const CAN_MOUNT = spawnSync('unshare', [...MOUNTS, 'mount', '-t', 'tmpfs', 'none', '/mnt']).status === 0;

describe('a run on a disk that becomes full', () => {
  it.skipIf(!CAN_MOUNT)(
    `names the file, and continues once there is space${CAN_MOUNT ? '' : ' (skipped: no user namespaces)'}`,
    async () => {
      const args = [
        ...['--model', REASONER, '--suite', 'tasks', '--subsets', 'story,walk'],
        ...['--limit', '24', '--temperature', '1', '--streams', '1', '--measures', 'nll', '--score', 'all'],
      ];
      expect((await runs.run('whole', ...args)).code).toBe(0);
      const size = readFileSync(join(folder.path('whole'), 'responses.jsonl')).length;

      const disk = folder.path('disk');
      mkdirSync(disk);
      const run = `"${process.execPath}" "${CLI_ENTRY}" bench run ${args.join(' ')} --out "${disk}/run"`;
      // Room for half of the responses beside the other files; pages are whole.
      const script = [
        `mount -t tmpfs -o size=${Math.ceil(size / 8192) * 4 + 24}k none "${disk}"`,
        `${run} 2>"${folder.path('full.txt')}" && exit 9`,
        `mount -o remount,size=64m "${disk}"`,
        `cp -r "${disk}/run" "${folder.path('full')}"`,
        run,
        `cp -r "${disk}/run" "${folder.path('continued')}"`,
      ].join('\n');
      await promisify(execFile)('unshare', [...MOUNTS, 'bash', '-ec', script]);

      const message = folder.read('full.txt');
      expect(message).toMatch(
        /flinch: \S+\/run\/\w+\.jsonl: cannot be written \(ENOSPC[^)]*\); what is there is kept, and the same command continues\n$/,
      );
      const ids = runs.lines('continued', 'responses').map(({ id }) => id);
      expect(new Set(ids).size).toBe(ids.length);
      const tables = (name: string) => ({ ...runs.evaluation(name), command: '' });
      expect(tables('continued')).toEqual(tables('whole'));
    },
  );
});
