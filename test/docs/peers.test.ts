import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { formatBytes } from '#cli/terminal-format.js';
import { PEER_NAMES, PEERS } from '#lab/peers/peer-catalogue.js';

const page = readFileSync('docs/how-to/peers.md', 'utf8');
const rowOf = (name: string): string[] =>
  (page.split('\n').find((line) => line.startsWith(`| \`${name}\` |`)) ?? '')
    .split('|')
    .map((cell) => cell.trim());

describe('the page of peers', () => {
  it.each(PEER_NAMES)('lists %s with licence and sizes as the command prints them', (name) => {
    const { licence, download, disk } = PEERS[name];
    const [, , , stated, ...sizes] = rowOf(name);
    expect(licence).toContain(stated);
    expect(sizes.slice(0, 2)).toEqual([formatBytes(download), formatBytes(disk)]);
  });
});
