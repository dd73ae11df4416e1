import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { peersFolder } from '#lab/peers/peers-folder.js';
import { useFolder } from '../support/cli.js';
import { useGateway } from '../support/gateway.js';
import { needs } from '../support/peers.js';

const SCHEMATHESIS = join(peersFolder(), 'environments/schemathesis/bin/schemathesis');
const OPENAPI = fileURLToPath(new URL('../../gateway/openapi.json', import.meta.url));
const { missing, reason } = needs(SCHEMATHESIS);

/** Seconds of requests, for each of the two tests. */
const { FUZZ_SECONDS = '60' } = process.env;

/** By itself, it does not take 413 for a refusal. */
const CONFIG = `[checks.negative_data_rejection]
expected-statuses = [400, 401, 403, 404, 405, 410, 413, 415, 429, 503]
`;

describe.skipIf(missing)(`Schemathesis${reason}`, () => {
  const gateway = useGateway();
  const folder = useFolder();

  it.each([
    // It fails by itself on the schema of /v1/chat/completions, in Python 3.11.
    ['coverage', '--exclude-path', '/v1/chat/completions'],
    ['fuzzing,stateful'],
  ])('finds no answer that the OpenAPI document does not describe: %s', async (phases, ...more) => {
    const args = [
      ...['--config-file', folder.write('schemathesis.toml', CONFIG), 'run', OPENAPI, '--url', gateway.url],
      ...['--phases', phases, ...more, '--max-time', FUZZ_SECONDS, '--workers', '2'],
      // A schema cannot say which models there are, or which fields do not go together.
      ...['--exclude-checks', 'positive_data_acceptance', '--warnings', 'off', '--no-color'],
    ];
    const options = { cwd: folder.path('.'), maxBuffer: 64 << 20 };
    const finding = await promisify(execFile)(SCHEMATHESIS, args, options).then(
      ({ stdout }) => (/Test cases:\n +\d+ generated/.test(stdout) ? '' : stdout),
      ({ stdout, stderr }: { stdout: string; stderr: string }) => `${stdout}${stderr}`,
    );
    expect(finding).toBe('');
    expect((await fetch(`${gateway.url}/readyz`)).status).toBe(200);
  });
});
