import { chalk } from '../../src/files/colours.js';

/** Darker means less certain; readable without telling red from green, on light and dark terminals. */
const SHADES: readonly [red: number, green: number, blue: number][] = [
  [255, 243, 224],
  [255, 213, 153],
  [255, 171, 82],
  [238, 119, 21],
  [179, 70, 0],
];
const DARK_FROM = 4;

/**
 * Colours text by how strongly it stands out.
 * @param strength 0 to 1
 */
export function heated(text: string, strength: number): string {
  // Below a sixth nothing is painted; the rest is divided evenly.
  const shade = Math.min(SHADES.length - 1, Math.floor(strength * (SHADES.length + 1)) - 1);
  // A painted line break would colour the rest of the line.
  return shade < 0 ? text : text.replace(/[^\r\n]+/g, (part) => shadeOf(shade)(part));
}

/** All shades, for a legend. */
export const swatches = (): string => SHADES.map((_, shade) => shadeOf(shade)('  ')).join('');

function shadeOf(shade: number): typeof chalk {
  const background = chalk.bgRgb(...SHADES[shade]!);
  return shade >= DARK_FROM ? background.whiteBright : background.black;
}
