import { spawnSync } from 'node:child_process';
import { chmodSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { mergeCommand } from '#bench/run/merge-command.js';
import { runCommand } from '#bench/run/run-command.js';
import { anyObject, apiVersionOf, misfits, temporary } from '../support/kubernetes-types.js';

const FOLDER = fileURLToPath(new URL('../../deploy/cluster', import.meta.url));
const read = (name: string): string => readFileSync(join(FOLDER, name), 'utf8');

const objects = readdirSync(FOLDER)
  .filter((name) => name.endsWith('.yaml'))
  .flatMap((name) => parseAllDocuments(read(name)).map((document) => anyObject.parse(document.toJS())));

/** Flags of `flinch bench run` and `flinch bench merge`. */
const flags = new Set(
  [runCommand(), mergeCommand()].flatMap(({ options }) => options.map(({ long }) => long)),
);

const unknownFlags = (text: string): string[] =>
  [...text.matchAll(/(?<![\w-])--[a-z][a-z-]*/g)].map(([flag]) => flag).filter((flag) => !flags.has(flag));

describe('the stages of the benchmark on a cluster', () => {
  it('are objects of Kubernetes, without a field that is none', () => {
    const kinds = objects.map(({ kind }) => kind).sort();
    expect(kinds).toEqual(['ConfigMap', 'Job', 'Job', 'Job', 'PersistentVolumeClaim']);
    for (const { apiVersion, kind } of objects) expect(apiVersion).toBe(apiVersionOf(kind));
    expect(misfits(objects)).toBe('');
  });

  it('have options that there are, and as many shards as pods', () => {
    const job = z.looseObject({
      spec: z.looseObject({
        completions: z.int().optional(),
        template: z.looseObject({
          spec: z.looseObject({ containers: z.array(z.looseObject({ args: z.array(z.string()) })) }),
        }),
      }),
    });
    const jobs = objects.filter(({ kind }) => kind === 'Job').map((object) => job.parse(object));
    for (const { spec } of jobs) {
      const text = spec.template.spec.containers.flatMap(({ args }) => args).join(' ');
      expect(unknownFlags(text)).toEqual([]);
      const [, of] = /--shard \S.*?\/(\d+)/.exec(text) ?? [];
      expect(of === undefined ? undefined : Number(of)).toBe(spec.completions);
    }
    const settings = z.object({ data: z.object({ RUN: z.string() }) });
    const { data } = settings.parse(objects.find(({ kind }) => kind === 'ConfigMap'));
    expect(unknownFlags(data.RUN)).toEqual([]);
  });

  it('wait for each other in Slurm', () => {
    const folder = temporary();
    const log = join(folder, 'log');
    // A double of sbatch (slurm.schedmd.com/sbatch.html): with --parsable it prints the number of the job.
    writeFileSync(
      join(folder, 'sbatch'),
      `#!/bin/sh\nprintf '%s|' "$@" >> ${log}; echo >> ${log}; wc -l < ${log}\n`,
    );
    chmodSync(join(folder, 'sbatch'), 0o755);
    const env = { ...process.env, PATH: `${folder}:${process.env.PATH}`, HOME: '/home/me', SHARDS: '8' };
    const { status, stderr } = spawnSync('bash', [join(FOLDER, 'slurm.sh')], { env, encoding: 'utf8' });
    expect([status, stderr]).toEqual([0, '']);
    const jobs = readFileSync(log, 'utf8').trim().split('\n');
    const told = (job: string, option: string): string | undefined =>
      new RegExp(`--${option}=([^|]*)`).exec(job)?.[1];
    expect(jobs.map((job) => [told(job, 'job-name'), told(job, 'array'), told(job, 'dependency')])).toEqual([
      ['write', '1-8', undefined],
      ['join', undefined, 'afterok:1'],
      ['score', '1-8', 'afterok:2'],
      ['evaluate', undefined, 'afterok:3'],
    ]);
    for (const job of jobs) {
      const [command = ''] = (told(job, 'wrap') ?? '').split('&&');
      expect(unknownFlags(command)).toEqual([]);
    }
    expect(told(jobs[0]!, 'wrap')).toContain('--shard $SLURM_ARRAY_TASK_ID/8');
  });

  it('are scripts that bash reads', () => {
    const { status, stderr } = spawnSync('bash', ['-n', join(FOLDER, 'kubernetes.sh')], { encoding: 'utf8' });
    expect([status, stderr]).toEqual([0, '']);
  });
});
