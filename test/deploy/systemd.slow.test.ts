import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execPath } from 'node:process';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { configSchema } from '#gateway/config/gateway-config.js';

const UNIT = fileURLToPath(new URL('../../deploy/systemd/flinch.service', import.meta.url));
const unit = readFileSync(UNIT, 'utf8');
const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0;

const valuesOf = (name: string): string[] =>
  [...unit.matchAll(new RegExp(`^${name}=(.*)$`, 'gm'))].map(([, value = '']) => value);

describe('the unit of systemd', () => {
  it.skipIf(!hasSystemd)('is one (skipped where there is no systemd)', () => {
    const folder = mkdtempSync(join(tmpdir(), 'flinch-unit-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const file = join(folder, 'flinch.service');
    const verify = (text: string) => {
      writeFileSync(file, text);
      const { status, stderr } = spawnSync('systemd-analyze', ['verify', file], { encoding: 'utf8' });
      return { status, stderr };
    };
    // The command must be there, which is installed elsewhere.
    const here = unit.replace(/^ExecStart=\S+/m, `ExecStart=${execPath}`);
    expect(verify(here)).toEqual({ status: 0, stderr: '' });
    expect(verify(here.replace('KillMode=mixed', 'KillMode=mixd')).stderr).toContain('kill mode');
  });

  it('gives it time to drain, and lets it alone decide when its engines end', () => {
    const { drain_s } = configSchema.parse({}).shutdown;
    expect(Number(valuesOf('TimeoutStopSec')[0])).toBeGreaterThan(drain_s + 10);
    expect(valuesOf('KillMode')).toEqual(['mixed']);
  });

  it('reloads by the signal that serve hears, which needs a file', () => {
    expect(valuesOf('ExecReload')).toEqual(['/bin/kill -HUP $MAINPID']);
    expect(valuesOf('ExecStart')[0]).toMatch(/^\/usr\/local\/bin\/flinch serve --config \//);
  });
});
