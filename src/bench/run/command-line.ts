/** What belongs to this machine, or to how the work was cut. */
const LEFT_OUT = ['--out', '--model', '--data', '--shard', '--streams'];

/** The command as it was given, without what does not decide what comes of it. */
export function commandLine(name: string): string {
  const args = process.argv.slice(process.argv.indexOf(name) + 1);
  const isLeftOut = (arg: string | undefined): boolean => arg !== undefined && LEFT_OUT.includes(arg);
  const kept = args.filter(
    (arg, i) =>
      arg !== '--json' &&
      !isLeftOut(arg) &&
      !isLeftOut(args[i - 1]) &&
      !LEFT_OUT.some((option) => arg.startsWith(`${option}=`)),
  );
  return [
    'flinch bench',
    name,
    ...kept.map((arg) => (/[\s;"']|^$/.test(arg) ? JSON.stringify(arg) : arg)),
  ].join(' ');
}
