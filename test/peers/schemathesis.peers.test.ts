import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { peersFolder } from '#bench/peers/folder.js';
import { useFolder } from '../support/cli.js';
import { useGateway } from '../support/gateway.js';
import { needs } from '../support/peers.js';

const SCHEMATHESIS = join(peersFolder(), 'environments/schemathesis/bin/schemathesis');
const OPENAPI = fileURLToPath(new URL('../../gateway/openapi.json', import.meta.url));
const { missing, reason } = needs(SCHEMATHESIS);

/** Seconds of requests. */
const { FUZZ_SECONDS = '120' } = process.env;

describe.skipIf(missing)(`Schemathesis${reason}`, () => {
  const gateway = useGateway();
  const folder = useFolder();

  it('finds no answer of the gateway that its OpenAPI document does not describe', async () => {
    const args = [
      ...['run', OPENAPI, '--url', gateway.url, '--max-time', FUZZ_SECONDS, '--workers', '2'],
      // A schema cannot say which models there are, or which fields do not go together.
      ...['--exclude-checks', 'positive_data_acceptance', '--warnings', 'off', '--no-color'],
      ...['--report', 'json', '--report-json-path', folder.path('report.json')],
    ];
    const run = await promisify(execFile)(SCHEMATHESIS, args, {
      cwd: folder.path('.'),
      maxBuffer: 64 << 20,
    }).catch(({ stdout, stderr }: { stdout: string; stderr: string }) => ({ stdout, stderr, failed: true }));
    expect('failed' in run ? `${run.stdout}${run.stderr}` : '').toBe('');
    expect((await fetch(`${gateway.url}/readyz`)).status).toBe(200);
  });
});
