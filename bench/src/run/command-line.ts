import { basename, resolve } from 'node:path';

/** Options that depend on this machine, or on what is done first. */
const LEFT_OUT = ['--out', '--stages', '--upstream', '--completer'];
/** Folders and files of this machine, which others have elsewhere. */
const FOLDERS = ['--model', '--questions', '--data', '--nli', '--cross-encoder', '--embedder'];

/**
 * The command as it was given, without what does not decide what comes of it; for a folder stands its name.
 * @param program which has it, as it is called
 * @param args of the process, after the name of the command
 */
export function commandLine(
  program: string,
  name: string,
  args = process.argv.slice(process.argv.indexOf(name) + 1),
): string {
  const words: string[] = [];
  const rest = args.values();
  for (const arg of rest) {
    const [option, given] = split(arg);
    if (FOLDERS.includes(option)) {
      words.push(option, `<${basename(resolve(given ?? rest.next().value ?? ''))}>`);
    } else if (LEFT_OUT.includes(option)) {
      if (given === undefined) rest.next();
    } else if (option !== '--json') {
      words.push(quoted(arg));
    }
  }
  return [program, name, ...words].join(' ');
}

/** `--limit=3` is `--limit 3`. */
function split(arg: string): readonly [option: string, value?: string] {
  const [, option, value] = /^(--[a-z-]+)=(.*)$/s.exec(arg) ?? [];
  return option !== undefined && value !== undefined ? [option, value] : [arg];
}

const quoted = (arg: string): string => (/[\s;"']|^$/.test(arg) ? JSON.stringify(arg) : arg);
