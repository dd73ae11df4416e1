/** A measure's name in its parts. */
export interface ParsedMeasure {
  readonly method: string;
  readonly settings: ReadonlyMap<string, string>;
}

/** Parses a name such as `adversarial:block=8,window=64`. */
export function parseMeasure(name: string): ParsedMeasure {
  const [method = '', ...rest] = name.split(':');
  const pairs = rest
    .join(':')
    .split(',')
    .filter((part) => part !== '');
  const settings = pairs.map((pair): [string, string] => {
    const equals = pair.indexOf('=');
    return equals < 0 ? [pair, ''] : [pair.slice(0, equals), pair.slice(equals + 1)];
  });
  return { method, settings: new Map(settings) };
}
