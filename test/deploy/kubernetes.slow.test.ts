import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { configSchema } from '#gateway/config/gateway-config.js';
import { Metrics } from '#gateway/index.js';
import { flinch } from '../support/cli.js';
import { anyObject, apiVersionOf, misfits, temporary } from '../support/kubernetes-types.js';
import { useTestGateway } from '../support/waiting-gateway.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const FOLDER = join(ROOT, 'deploy/kubernetes');
const read = (name: string): string => readFileSync(join(FOLDER, name), 'utf8');

const kustomization = z
  .object({
    resources: z.array(z.string()),
    images: z.tuple([z.object({ name: z.literal('flinch'), newTag: z.string() })]),
    secretGenerator: z.tuple([z.object({ name: z.string(), envs: z.array(z.string()) })]),
  })
  .parse(parse(read('kustomization.yaml')));

const objects = kustomization.resources.flatMap((name) =>
  parseAllDocuments(read(name)).map((document) => anyObject.parse(document.toJS())),
);

const mount = z.object({ name: z.string(), mountPath: z.string() });
const probe = z.object({ httpGet: z.object({ path: z.string(), port: z.string() }) });
const deployment = z
  .object({
    kind: z.literal('Deployment'),
    spec: z.object({
      /** The autoscaler's. */
      replicas: z.never().optional(),
      template: z.object({
        metadata: z.object({
          labels: z.record(z.string(), z.string()),
          annotations: z.record(z.string(), z.string()),
        }),
        spec: z.object({
          enableServiceLinks: z.boolean(),
          terminationGracePeriodSeconds: z.number(),
          securityContext: z.looseObject({ runAsNonRoot: z.boolean(), runAsUser: z.number() }),
          containers: z.tuple([
            z.object({
              args: z.array(z.string()),
              envFrom: z.tuple([z.object({ secretRef: z.object({ name: z.string() }) })]),
              ports: z.array(z.object({ name: z.string(), containerPort: z.number() })),
              startupProbe: probe,
              livenessProbe: probe,
              readinessProbe: probe,
              lifecycle: z.object({
                preStop: z.object({ exec: z.object({ command: z.array(z.string()) }) }),
              }),
              securityContext: z.unknown(),
              volumeMounts: z.tuple([mount, mount]),
            }),
          ]),
        }),
      }),
    }),
  })
  .parse(objects.find(({ kind }) => kind === 'Deployment'));
const pod = deployment.spec.template.spec;
const [container] = pod.containers;
const config = configSchema.parse(parse(read('flinch.yaml')));

describe('the manifests for Kubernetes', () => {
  it('are objects of their kinds, without a field that is none', () => {
    expect(objects.map(({ kind }) => kind).sort()).toEqual([
      'Deployment',
      'HorizontalPodAutoscaler',
      'NetworkPolicy',
      'PodDisruptionBudget',
      'Service',
    ]);
    for (const { apiVersion, kind } of objects) expect(apiVersion).toBe(apiVersionOf(kind));
    expect(misfits(objects)).toBe('');
    const typo = { apiVersion: 'v1', kind: 'Service', spec: { sessionAffinty: 'ClientIP' } };
    expect(misfits([typo])).toContain("sessionAffinty\"' does not exist in type 'ServiceSpec'");
  });

  it('are that for Triton, too', () => {
    const text = readFileSync(join(ROOT, 'deploy/triton/triton.yaml'), 'utf8');
    const triton = parseAllDocuments(text).map((document) => anyObject.parse(document.toJS()));
    expect(triton.map(({ kind }) => kind)).toEqual(['Service', 'Deployment']);
    expect(misfits(triton)).toBe('');
  });

  it('have their metrics found by the operator of Prometheus, under the job of the alerts', () => {
    const monitor = parse(read('pod-monitor.yaml'));
    expect(monitor).toMatchObject({ apiVersion: 'monitoring.coreos.com/v1', kind: 'PodMonitor' });
    const { jobLabel, selector, podMetricsEndpoints } = monitor.spec;
    const { labels } = deployment.spec.template.metadata;
    expect(labels).toMatchObject(selector.matchLabels);
    expect(labels[jobLabel]).toBe('flinch');
    expect(readFileSync(join(ROOT, 'dashboards/alerts.yml'), 'utf8')).toContain('up{job="flinch"}');
    const names = container.ports.map(({ name }) => name);
    expect(names).toContain(podMetricsEndpoints[0].port);
  });

  it('name ports that the configuration listens on, and give the variables of its keys', () => {
    const ports = new Map(container.ports.map(({ name, containerPort }) => [name, containerPort]));
    const { listen, metrics, health } = config;
    expect(Object.fromEntries(ports)).toEqual({
      http: listen.port,
      metrics: metrics.port,
      health: health.port,
    });
    expect([listen.host, metrics.host, health.host]).toEqual(Array(3).fill('0.0.0.0'));
    const { annotations } = deployment.spec.template.metadata;
    expect(annotations['prometheus.io/port']).toBe(String(config.metrics.port));
    for (const { httpGet } of [container.startupProbe, container.livenessProbe, container.readinessProbe]) {
      expect(httpGet.port).toBe('health');
    }
    const service = objects.find(({ kind }) => kind === 'Service');
    expect(service).toMatchObject({
      spec: { ports: [{ port: config.listen.port, targetPort: 'http' }], sessionAffinity: 'ClientIP' },
    });
    // Refused, not open, where nobody has made keys.env.
    expect(config.access).toMatchObject({ allow_anonymous: false, keys: [{ env: 'WEB_KEY' }] });
    expect(container.envFrom[0].secretRef.name).toBe(kustomization.secretGenerator[0].name);
    expect(kustomization.secretGenerator[0].envs).toEqual(['keys.env']);
    expect(readdirSync(FOLDER)).not.toContain('keys.env');
  });

  it('probe what the gateway has', async () => {
    const gateway = await useTestGateway({ health: { port: 0 } });
    for (const { httpGet } of [container.startupProbe, container.livenessProbe, container.readinessProbe]) {
      expect((await fetch(`${gateway.healthUrl}${httpGet.path}`)).status, httpGet.path).toBe(200);
    }
    gateway.model.ready = false;
    expect((await fetch(`${gateway.healthUrl}${container.livenessProbe.httpGet.path}`)).status).toBe(200);
    expect((await fetch(`${gateway.healthUrl}${container.readinessProbe.httpGet.path}`)).status).toBe(503);
  });

  it('give it time to drain', () => {
    const [command, seconds] = container.lifecycle.preStop.exec.command;
    expect(command).toBe('sleep');
    const { drain_s } = config.shutdown;
    expect(pod.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(Number(seconds) + drain_s + 5);
  });

  it('keep out variables of services, which flinch would refuse, and let the container do little', async () => {
    expect(pod.enableServiceLinks).toBe(false);
    const { stderr } = await flinch(['serve', '--check-config'], '', { FLINCH_PORT: 'tcp://10.0.0.1:8787' });
    expect(stderr).toContain('FLINCH_PORT: is not a flinch variable');
    expect(pod.securityContext).toMatchObject({
      runAsNonRoot: true,
      seccompProfile: { type: 'RuntimeDefault' },
    });
    expect(container.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
  });

  it('scale by a metric that the adapter makes of one of the gateway', async () => {
    const metrics = await new Metrics().text();
    expect(metrics).toContain('# TYPE flinch_queue_depth gauge');
    const { rules } = parse(read('prometheus-adapter.yaml'));
    expect(rules.custom[0]).toMatchObject({
      seriesQuery: expect.stringMatching(/^flinch_queue_depth\{/),
      name: { as: 'flinch_queue_depth' },
    });
    expect(objects.find(({ kind }) => kind === 'HorizontalPodAutoscaler')).toMatchObject({
      spec: { metrics: [{ pods: { metric: { name: 'flinch_queue_depth' } } }] },
    });
  });

  it('hold a configuration that can be served, and that fits the image', async () => {
    const folder = temporary();
    const file = join(folder, 'flinch.yaml');
    writeFileSync(file, read('flinch.yaml').replaceAll('/app/', ROOT));
    const args = ['serve', '--config', file, '--check-config'];
    expect(container.args).toEqual([
      'serve',
      '--config',
      `${container.volumeMounts[0].mountPath}/flinch.yaml`,
    ]);
    const checked = await flinch(args, '', {
      WEB_KEY: 'a-key-for-these-tests',
      FLINCH_LISTEN_HOST: '0.0.0.0',
    });
    expect(checked).toMatchObject({ code: 0, stderr: '' });
    const { code, stderr } = await flinch(args);
    expect([code, stderr]).toEqual([1, 'flinch: access.keys: web: the variable WEB_KEY is not set\n']);

    const { version } = z
      .object({ version: z.string() })
      .parse(JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')));
    expect(kustomization.images[0].newTag).toBe(version);
    const dockerfile = readFileSync(join(ROOT, 'Dockerfile'), 'utf8');
    expect(dockerfile).toContain(`USER ${pod.securityContext.runAsUser}:`);
    expect(dockerfile).toContain(`EXPOSE ${config.listen.port}`);
  });
});
