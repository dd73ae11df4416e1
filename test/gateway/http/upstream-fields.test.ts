import { expect, it } from 'vitest';
import { UpstreamFields } from '#gateway/http/upstream-fields.js';

const long = 'x'.repeat(600);

it('repeats what is short in each chunk from then on, with its last value', () => {
  const fields = new UpstreamFields();
  expect(fields.take()).toEqual({});
  fields.add({ fingerprint: 'a', tier: { name: 'b' } });
  fields.add({ fingerprint: 'c' });
  for (let chunk = 0; chunk < 3; chunk++) {
    expect(fields.take()).toEqual({ fingerprint: 'c', tier: { name: 'b' } });
  }
});

it('says what is long once, and again when it comes again', () => {
  const fields = new UpstreamFields();
  fields.add({ fingerprint: 'a', citations: [long] });
  for (let times = 0; times < 2; times++) {
    expect(fields.take()).toEqual({ fingerprint: 'a', citations: [long] });
    expect(fields.take()).toEqual({ fingerprint: 'a' });
    fields.add({ citations: [long] });
  }
});

it('no longer repeats what has become long', () => {
  const fields = new UpstreamFields();
  fields.add({ fingerprint: 'a' });
  fields.add({ fingerprint: long });
  expect(fields.take()).toEqual({ fingerprint: long });
  expect(fields.take()).toEqual({});
});

it('says each of many once, and repeats few of them', () => {
  const fields = new UpstreamFields();
  const said = new Set<string>();
  let characters = 0;
  for (let i = 0; i < 1000; i++) {
    fields.add({ [`field${i}`]: i });
    const chunk = fields.take();
    for (const name of Object.keys(chunk)) said.add(name);
    characters += JSON.stringify(chunk).length;
  }
  expect(said.size).toBe(1000);
  expect(characters / 1000).toBeLessThan(600);
});
