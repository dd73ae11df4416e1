import { describe, expect, it } from 'vitest';
import { commandLine } from '#bench/run/command-line.js';

describe('commandLine', () => {
  it('keeps what decides what comes of it, and names folders without their place', () => {
    const args = [
      ...['--suite', 'math', '--model', '/models/Llama-3.1-8B/', '--data=/data', '--out', '/tmp/x', '--json'],
      ...['--streams', '1', '--nli', '../my nli', '--limit=3', '--stages', 'generate,check'],
    ];
    expect(commandLine('flinch bench', 'run', args)).toBe(
      'flinch bench run --suite math --model <Llama-3.1-8B> --data <data> --streams 1 --nli <my nli> --limit=3',
    );
  });
});
