import type { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { flinchProgram } from '#cli/program.js';
import { METRICS } from '#gateway/metrics/reference.js';
import { labProgram } from '#lab/lab-program.js';
import { fullName, withSubcommands } from '#tools/reference/cli.js';
import { commandsOf, isShell, placeOf, readDocuments } from '../support/documents.js';

const program = await flinchProgram('0.0.0');
const lab = await labProgram();
const commands = [...withSubcommands(program), ...withSubcommands(lab)];
const flagsOf = (command: Command): string[] =>
  command
    .createHelp()
    .visibleOptions(command)
    .flatMap(({ long, short }) => [long, short].filter((flag) => typeof flag === 'string'));
const known = new Set(commands.flatMap(flagsOf));

/** Flags of other programs, which the documents name, too. */
const FOREIGN = new Set([
  '--max-logprobs',
  '--reasoning-parser',
  '--reasoning-format',
  '--jinja',
  '--enable-auto-tool-choice',
  '--tool-call-parser',
  '--logprobs-mode',
  '--ctx-size',
  '--parallel',
  '--kv-unified',
  '--context-shift',
  '--enable-feature',
  '--log_samples',
  '--weights',
  '--steps',
  '--max-semi-space-size',
  '--ignore-scripts',
  '--omit',
  '--threads',
]);

/** The words that call one of our commands, as documents write them. */
const CALLS =
  /(?:npx flinch|\bflinch|npm start --|npm run lab --)(?= )((?:\\\n|'[^']*'|"[^"]*"|[^|;&>\n])*)/g;

/** The command that is called, however deep, or that which is called without a name. */
function calledBy(call: string, words: readonly string[]): Command {
  let command = program;
  if (call.startsWith('npm start')) command = command.commands.find((each) => each.name() === 'serve')!;
  if (call.startsWith('npm run lab')) command = lab;
  for (const word of words) {
    const next = command.commands.find((each) => each.name() === word);
    if (!next) break;
    command = next;
  }
  return command;
}

/** @returns the flags in a text of commands that the commands do not have */
function unknownFlags(text: string): string[] {
  return [...text.matchAll(CALLS)].flatMap(([call, rest = '']) => {
    const words = rest
      .replaceAll(/'[^']*'|"[^"]*"/g, '')
      .split(/[\s\\]+/)
      .filter((word) => word !== '');
    const command = calledBy(call, words);
    const flags = words.filter((word) => /^-{1,2}[a-z]/.test(word)).map((word) => word.split('=')[0]!);
    const own = flagsOf(command);
    return flags.filter((flag) => !own.includes(flag)).map((flag) => `${fullName(command)} ${flag}`);
  });
}

describe('flags in the documentation', () => {
  const documents = readDocuments();

  it('are those of the command that they are given to', () => {
    const blocks = documents.flatMap((document) => document.blocks).filter(isShell);
    const faults = blocks.flatMap((block) =>
      unknownFlags(commandsOf(block)).map((fault) => `${placeOf(block)}: ${fault}`),
    );
    expect(faults).toEqual([]);
    expect(unknownFlags('npx flinch chat --rat 0.1 "--x" | jq --y')).toEqual(['flinch chat --rat']);
    expect(unknownFlags('npm run lab -- speed \\\n  --round 3')).toEqual(['npm run lab -- speed --round']);
  });

  it('exist where the text names them', () => {
    const named = documents.flatMap(({ file, codeSpans }) =>
      codeSpans.flatMap((span) =>
        [...span.matchAll(/(?<![\w-])--[a-z][\w-]*/g)].map(([flag]) => ({ file, flag })),
      ),
    );
    expect(named.length).toBeGreaterThan(20);
    expect(named.filter(({ flag }) => !known.has(flag) && !FOREIGN.has(flag))).toEqual([]);
  });
});

const LABELS: ReadonlySet<string> = new Set(
  Object.values(METRICS).flatMap((definitions) => definitions.flatMap(({ labels }) => Object.keys(labels))),
);

describe('metrics in the documentation', () => {
  it('exist', () => {
    const names = Object.values(METRICS).flatMap((definitions) => definitions.map(({ name }) => name));
    const named = readDocuments().flatMap(({ file, codeSpans }) =>
      codeSpans.flatMap((span) =>
        [...span.matchAll(/\b(?:flinch|gen_ai)_\w+_\w+/g)].map(([name]) => ({ file, name })),
      ),
    );
    expect(named.length).toBeGreaterThan(5);
    const isKnown = (name: string): boolean =>
      names.some((known) => known === name.replace(/_(bucket|sum|count)$/, '')) || LABELS.has(name);
    expect(named.filter(({ name }) => !isKnown(name))).toEqual([]);
  });
});

describe('the examples of --help', () => {
  it.each(commands.map((command) => [fullName(command), command] as const))(
    '%s: has them, with flags that it has',
    (_name, command) => {
      let help = '';
      command.configureOutput({ writeOut: (text) => (help += text) });
      command.outputHelp();
      const [, examples = ''] = help.split(/\nExamples?:\n/);
      if (command.commands.length === 0) expect(examples).toContain('$ ');
      expect(unknownFlags(examples)).toEqual([]);
    },
  );
});
