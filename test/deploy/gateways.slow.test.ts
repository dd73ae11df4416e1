import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { configSchema } from '#gateway/config/gateway-config.js';
import { type AnyObject, anyObject, apiVersionOf, misfits } from '../support/kubernetes-types.js';

const FOLDER = fileURLToPath(new URL('../../deploy/gateways/', import.meta.url));
const read = (name: string): string => readFileSync(join(FOLDER, name), 'utf8');
const objectsOf = (name: string): AnyObject[] =>
  parseAllDocuments(read(name)).map((document) => anyObject.parse(document.toJS()));

const kustomization = z
  .object({
    resources: z.tuple([z.literal('../kubernetes')], z.string()),
    configMapGenerator: z.tuple([z.object({ name: z.literal('flinch'), behavior: z.literal('replace') })]),
    patches: z.array(z.object({ path: z.string() })),
  })
  .parse(parse(read('kustomization.yaml')));
const [, ...own] = kustomization.resources;
const objects = own.flatMap(objectsOf);
const patches = kustomization.patches.flatMap(({ path }) => objectsOf(path));
const named = (kind: string, name: string) =>
  objects.find((object) => object.kind === kind && Object(object.metadata).name === name);

const config = configSchema.parse(parse(read('flinch.yaml')));

describe('the manifests of several gateways and scorers', () => {
  it('are objects of their kinds, without a field that is none', () => {
    expect(objects).toHaveLength(11);
    for (const { apiVersion, kind } of [...objects, ...patches]) expect(apiVersion).toBe(apiVersionOf(kind));
    const [service, deployment] = patches;
    const { spec } = deployment!;
    // The base has the selector.
    const whole = { ...deployment!, spec: { selector: {}, ...Object(spec) } };
    expect(misfits([...objects, whole])).toBe('');
    // `null` takes a field away.
    expect(service).toMatchObject({ kind: 'Service', spec: { sessionAffinityConfig: null } });
  });

  it('name every scorer that the autoscaler may start, at a port that it has', () => {
    const set = z
      .object({
        metadata: z.object({ name: z.string() }),
        spec: z.object({ serviceName: z.string(), replicas: z.never().optional() }),
      })
      .parse(named('StatefulSet', 'triton'));
    const scaler = z
      .object({ spec: z.object({ maxReplicas: z.number(), metrics: z.unknown() }) })
      .parse(named('HorizontalPodAutoscaler', 'triton'));
    const addresses = Array.from(
      { length: scaler.spec.maxReplicas },
      (_, i) => `http://${set.metadata.name}-${i}.${set.spec.serviceName}:8000`,
    );
    expect(config.models?.qwen).toMatchObject({ scorer_url: addresses, scorer_model: 'qwen' });
    expect(named('Service', set.spec.serviceName)).toMatchObject({
      spec: { clusterIP: 'None', ports: [{ name: 'http', port: 8000 }] },
    });
    const metric = parse(read('prometheus-adapter.yaml')).rules.custom[0].name.as;
    expect(scaler.spec.metrics).toMatchObject([{ pods: { metric: { name: metric } } }]);
  });

  it('load the model with sequences, and have the gateway ask vLLM for its checkpoint', () => {
    expect(named('StatefulSet', 'triton')).toMatchObject({
      spec: {
        template: {
          spec: { containers: [{ args: expect.arrayContaining(['--load-model=qwen_sequence']) }] },
        },
      },
    });
    expect(named('Deployment', 'vllm')).toMatchObject({
      spec: {
        template: {
          spec: {
            containers: [
              {
                args: expect.arrayContaining([
                  '--model=/models/Qwen2.5-7B-Instruct',
                  '--served-model-name=Qwen/Qwen2.5-7B-Instruct',
                ]),
              },
            ],
          },
        },
      },
    });
    expect(config.models?.qwen).toMatchObject({
      scorer: '/models/Qwen2.5-7B-Instruct',
      upstreams: [{ url: 'http://vllm:8000/v1', model: 'Qwen/Qwen2.5-7B-Instruct' }],
    });
  });

  it('let nobody but gateways reach what asks for no key, and give them time to drain', () => {
    const gateways = { podSelector: { matchLabels: { 'app.kubernetes.io/name': 'flinch' } } };
    for (const name of ['redis', 'triton', 'vllm']) {
      expect(named('NetworkPolicy', name)).toMatchObject({
        spec: {
          policyTypes: ['Ingress'],
          ingress: expect.arrayContaining([expect.objectContaining({ from: [gateways] })]),
        },
      });
    }
    expect(patches.find(({ kind }) => kind === 'Deployment')).toMatchObject({
      spec: { template: { spec: { terminationGracePeriodSeconds: 5 + config.shutdown.drain_s + 10 } } },
    });
    expect(patches.find(({ kind }) => kind === 'Service')).toMatchObject({
      spec: { sessionAffinity: 'None' },
    });
  });
});
