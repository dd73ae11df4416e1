import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { loadConfig } from '#gateway/config/load-config.js';
import { checkAccess } from '#gateway/index.js';
import { DASHBOARDS } from '../support/dashboards.js';

const yaml = (name: string): unknown => parse(readFileSync(join(DASHBOARDS, name), 'utf8'));

const service = z.looseObject({
  image: z.string().optional(),
  command: z.array(z.string()).optional(),
  environment: z.record(z.string(), z.string()).default({}),
  volumes: z.array(z.string()).default([]),
  ports: z.array(z.string()),
  healthcheck: z.looseObject({ test: z.array(z.string()) }),
});
const { services, volumes } = z
  .object({
    services: z.object({ gateway: service, prometheus: service, grafana: service }),
    volumes: z.record(z.string(), z.null()),
  })
  .parse(yaml('compose.yaml'));
const mounts = Object.values(services).flatMap((each) => each.volumes.map((volume) => volume.split(':')));
const inContainer = (path: string) => mounts.find(([, target = '']) => path.startsWith(target));

describe('compose.yaml', () => {
  it('mounts files that there are, read-only, and volumes that it declares', () => {
    expect(mounts.length).toBeGreaterThan(4);
    for (const [source = '', , mode] of mounts) {
      if (!source.startsWith('.')) {
        expect(volumes).toHaveProperty(source);
        continue;
      }
      expect(existsSync(join(DASHBOARDS, source)), source).toBe(true);
      expect(mode).toBe('ro');
    }
  });

  it('opens ports to this machine alone, of what says whether it is well', () => {
    for (const [name, { ports, healthcheck, image }] of Object.entries(services)) {
      for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:/);
      expect(healthcheck.test[0], name).toBe('CMD');
      if (image) expect(image).toMatch(/:v?\d+\.\d+\.\d+$/);
    }
  });

  it('configures a gateway that may start, and whose metrics Prometheus asks for where they are', async () => {
    const config = await loadConfig({ env: services.gateway.environment });
    expect(() => checkAccess(config, {})).not.toThrow();
    const { scrape_configs } = z
      .looseObject({
        scrape_configs: z.array(
          z.looseObject({ static_configs: z.array(z.object({ targets: z.array(z.string()) })) }),
        ),
      })
      .parse(yaml('prometheus.yml'));
    expect(scrape_configs).toMatchObject([
      { job_name: 'flinch', static_configs: [{ targets: [`gateway:${config.metrics.port}`] }] },
    ]);
    const ports = services.gateway.ports.map((port) => port.split(':').at(-1));
    expect(ports).toEqual([String(config.listen.port)]);
  });

  it('has Grafana provisioned with files that are mounted, and without any account', () => {
    const environment = services.grafana.environment;
    expect(environment).toMatchObject({
      GF_SECURITY_DISABLE_INITIAL_ADMIN_CREATION: 'true',
      GF_AUTH_ANONYMOUS_ORG_ROLE: 'Viewer',
      GF_AUTH_BASIC_ENABLED: 'false',
    });
    const home = environment.GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH ?? '';
    const [source = '', target = ''] = inContainer(home) ?? [];
    expect(existsSync(join(DASHBOARDS, source, home.slice(target.length)))).toBe(true);
    expect(yaml('grafana/provisioning/dashboards/flinch.yaml')).toMatchObject({
      providers: [{ options: { path: target } }],
    });
    expect(yaml('grafana/provisioning/datasources/prometheus.yaml')).toMatchObject({
      datasources: [{ type: 'prometheus', url: 'http://prometheus:9090', isDefault: true }],
    });
  });

  it('gives Prometheus the files that its configuration names', () => {
    const file = services.prometheus.command?.[0]?.replace('--config.file=', '') ?? '';
    const { rule_files } = z.looseObject({ rule_files: z.array(z.string()) }).parse(yaml('prometheus.yml'));
    for (const name of ['prometheus.yml', ...rule_files]) {
      const path = join(file, '..', name);
      expect(mounts).toContainEqual([`./${name}`, path, 'ro']);
    }
  });
});
