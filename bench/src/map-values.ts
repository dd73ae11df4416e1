/** A record of these names, with a value of each. */
export const recordOf = <K extends string, T>(
  names: readonly K[],
  of: (name: K, i: number) => T,
): Record<K, T> => Object.fromEntries(names.map((name, i) => [name, of(name, i)])) as Record<K, T>;

/** The same names with other values. */
export const mapValues = <K extends string, A, B>(
  record: Readonly<Record<K, A>>,
  map: (value: A, name: K) => B,
): Record<K, B> => recordOf(Object.keys(record) as K[], (name) => map(record[name], name));
