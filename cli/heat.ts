import type { ChalkInstance } from 'chalk';

/** Darker means less certain; readable without telling red from green, on light and dark terminals. */
const SHADES: readonly [red: number, green: number, blue: number][] = [
  [255, 243, 224],
  [255, 213, 153],
  [255, 171, 82],
  [238, 119, 21],
  [179, 70, 0],
];
const DARK_FROM = 4;

/** Colours text by how strongly it stands out. */
export class Heat {
  readonly #chalk: ChalkInstance;

  constructor(chalk: ChalkInstance) {
    this.#chalk = chalk;
  }

  /** @param strength 0 to 1 */
  paint(text: string, strength: number): string {
    // Below a sixth nothing is painted; the rest is divided evenly.
    const shade = Math.min(SHADES.length - 1, Math.floor(strength * (SHADES.length + 1)) - 1);
    // A painted line break would colour the rest of the line.
    return shade < 0 ? text : text.replace(/[^\r\n]+/g, (part) => this.#shade(shade)(part));
  }

  /** Text without a score, which is not a score of zero. */
  dim(text: string): string {
    return this.#chalk.dim(text);
  }

  /** All shades, for a legend. */
  swatches(): string {
    return SHADES.map((_, shade) => this.#shade(shade)('  ')).join('');
  }

  #shade(shade: number): ChalkInstance {
    const background = this.#chalk.bgRgb(...SHADES[shade]!);
    return shade >= DARK_FROM ? background.whiteBright : background.black;
  }
}
