import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { formatBytes } from '#cli/format.js';
import { PEER_NAMES, PEERS } from '#lab/peers/catalogue.js';
import { BASE_PORT, PORTS } from '#lab/peers/start-servers.js';

const page = readFileSync('docs/how-to/peers.md', 'utf8');
const rowOf = (name: string, from = 0): string[] =>
  (
    page
      .slice(from)
      .split('\n')
      .find((line) => line.startsWith(`| \`${name}\` |`)) ?? ''
  )
    .split('|')
    .map((cell) => cell.trim());

describe('the page of peers', () => {
  it.each(PEER_NAMES)('lists %s with licence and sizes as the command prints them', (name) => {
    const { licence, download, disk } = PEERS[name];
    const [, , , stated, ...sizes] = rowOf(name);
    expect(licence).toContain(stated);
    expect(sizes.slice(0, 2)).toEqual([formatBytes(download), formatBytes(disk)]);
  });

  it.each(['vllm', 'llama-cpp'] as const)('lists the ports of %s', (name) => {
    const cells = rowOf(name, page.indexOf('## Servers')).slice(2, -1);
    const urls = Object.values(PORTS[name]).map((offset) => `\`http://127.0.0.1:${BASE_PORT + offset}/v1\``);
    expect(cells.filter((cell) => cell !== '')).toEqual(urls);
  });

  it('names the port of litellm', () => {
    expect(page).toContain(`\`http://127.0.0.1:${BASE_PORT + PORTS.litellm.all}/v1\``);
  });
});
