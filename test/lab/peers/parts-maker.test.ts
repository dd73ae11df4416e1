import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { PartsMaker, UNFINISHED } from '#lab/peers/parts-maker.js';
import { type Part, versionOf } from '#lab/peers/peer-part.js';
import { useFolder } from '../../support/cli.js';

const folder = useFolder();
let roots = 0;

function open(root = folder.path(`${roots++}`), signal = new AbortController().signal) {
  mkdirSync(root, { recursive: true });
  const workshop = new PartsMaker(root, signal);
  vi.spyOn(workshop, 'line').mockReturnValue();
  return { root, workshop };
}

const part = (text: string, make?: Part['make'], needs: readonly Part[] = []): Part => ({
  path: 'models/model',
  version: () => text,
  needs: () => needs,
  make: make ?? (async (target) => writeFileSync(target, text)),
});

const failing = async (target: string): Promise<void> => {
  writeFileSync(target, 'half of it');
  throw new Error('it broke');
};

const textOf = (root: string): string => readFileSync(join(root, 'models/model'), 'utf8');
const unfinished = (root: string): string[] =>
  readdirSync(root).filter((name) => name.startsWith(UNFINISHED));

it('moves a part to its place when it is whole, with its version', async () => {
  const { root, workshop } = open();
  await workshop.provide(part('one'));
  expect(textOf(root)).toBe('one');
  expect(versionOf(root, part('one'))).toBe('one');
  expect(unfinished(root)).toEqual([]);
});

it('makes a part once; another version is made again', async () => {
  const { root } = open();
  await open(root).workshop.provide(part('one'));
  await open(root).workshop.provide(part('one', failing));
  expect(textOf(root)).toBe('one');
  await open(root).workshop.provide(part('two'));
  expect(textOf(root)).toBe('two');
});

it('leaves what was there, and nothing unfinished, where a part cannot be made', async () => {
  const { root } = open();
  await open(root).workshop.provide(part('one'));
  await expect(open(root).workshop.provide(part('two', failing))).rejects.toThrow('it broke');
  expect(textOf(root)).toBe('one');
  expect(versionOf(root, part('one'))).toBe('one');
  expect(unfinished(root)).toEqual([]);
});

it('makes again what was in its place, but not said to be whole', async () => {
  const { root, workshop } = open();
  mkdirSync(join(root, 'models'));
  writeFileSync(join(root, 'models/model'), 'half of it');
  expect(versionOf(root, part('one'))).toBeNull();
  await workshop.provide(part('one'));
  expect(textOf(root)).toBe('one');
});

it('makes what a part needs first, and asks for it only once', async () => {
  const { root, workshop } = open();
  const need: Part = { path: 'need', version: () => '1', make: vi.fn(failing) };
  const made = vi.fn();
  await expect(workshop.provide(part('one', made, [need]))).rejects.toThrow('it broke');
  const other: Part = { ...part('one', made, [need]), path: 'models/other' };
  await expect(workshop.provide(other)).rejects.toThrow('it broke');
  expect(need.make).toHaveBeenCalledOnce();
  expect(made).not.toHaveBeenCalled();
  expect(existsSync(join(root, 'need'))).toBe(false);
});

it('puts nothing in its place after an interruption', async () => {
  const interrupt = new AbortController();
  const { root, workshop } = open(folder.path('interrupted'), interrupt.signal);
  const interrupted = part('one', async (target) => {
    writeFileSync(target, 'one');
    interrupt.abort(new Error('interrupted'));
  });
  await expect(workshop.provide(interrupted)).rejects.toThrow('interrupted');
  expect(existsSync(join(root, 'models/model'))).toBe(false);
  expect(unfinished(root)).toEqual([]);
});
