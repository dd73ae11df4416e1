/** A unit, as a multiple of the base unit of its dimension, exact. */
export interface Unit {
  readonly dimension: string;
  readonly factor: readonly [numerator: bigint, denominator: bigint];
}

const UNITS: readonly (readonly [dimension: string, factor: number, names: string])[] = [
  ['length', 1000, 'km kilometre kilometer'],
  ['length', 1, 'm metre meter'],
  ['length', 0.01, 'cm centimetre centimeter'],
  ['length', 0.001, 'mm millimetre millimeter'],
  ['length', 1609.344, 'mi mile'],
  ['length', 0.3048, 'ft foot feet'],
  ['length', 0.0254, 'inch inche'],
  ['mass', 1000, 'kg kilogram kilogramme kilo'],
  ['mass', 1, 'g gram gramme'],
  ['mass', 0.001, 'mg milligram'],
  ['mass', 1_000_000, 't tonne'],
  ['mass', 453.59237, 'lb pound-mass'],
  ['volume', 1, 'l litre liter'],
  ['volume', 0.001, 'ml millilitre milliliter'],
  ['time', 1, 's sec second'],
  ['time', 60, 'min minute'],
  ['time', 3600, 'h hr hour'],
  ['time', 86_400, 'day'],
  ['speed', 1, 'm/s metres-per-second meters-per-second'],
  ['speed', 1000, 'km/s kilometres-per-second kilometers-per-second'],
  ['ratio', 0.01, '% percent per-cent prozent'],
  ['°C', 1, '°c celsius degrees-celsius degree-celsius degrees-centigrade'],
  ['°F', 1, '°f fahrenheit degrees-fahrenheit'],
  ['$', 1, '$ usd dollar us-dollar'],
  ['€', 1, '€ eur euro'],
  ['£', 1, '£ gbp'],
  ['¥', 1, '¥ jpy yen'],
  ['CHF', 1, 'chf franc'],
];

const exact = (factor: number): readonly [bigint, bigint] => {
  const [whole = '0', places = ''] = String(factor).split('.');
  return [BigInt(whole + places), 10n ** BigInt(places.length)];
};

const BY_NAME: ReadonlyMap<string, Unit> = new Map(
  UNITS.flatMap(([dimension, factor, names]) =>
    names.split(' ').map((name) => [name, { dimension, factor: exact(factor) }] as const),
  ),
);

const escaped = (name: string): string => name.replace(/[$/]/g, '\\$&').replaceAll('-', '[- ]');
const NAMES = [...BY_NAME.keys()]
  .sort((a, b) => b.length - a.length)
  .map(escaped)
  .join('|');

/** A unit after a number, or a currency before it. */
export const UNIT_AFTER = new RegExp(`\\s*-?(${NAMES})s?(?![\\p{L}\\d/^])`, 'iuy');
export const UNIT_BEFORE = /(US\$|[$€£¥]|\b(?:USD|EUR|GBP|JPY|CHF))\s*$/i;

export const unitNamed = (name: string): Unit | null =>
  BY_NAME.get(name.toLowerCase().replace(/^us\$/, '$').replaceAll(' ', '-')) ?? null;

const ASKED = new RegExp(`(?<![\\p{L}])in\\s+(${NAMES})s?(?![\\p{L}\\d/^])`, 'iu');

/** The unit in which a question wants its answer; `null` if it names none. */
export const unitAsked = (question: string): Unit | null => {
  const name = ASKED.exec(question)?.[1];
  return name === undefined ? null : unitNamed(name);
};
