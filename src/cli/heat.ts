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

/** Colours text by how a score compares with the largest so far. */
export class Heat {
  readonly #chalk: ChalkInstance;
  #largest: number;

  /** @param floor a largest score below this counts as this: an answer without doubt stays plain */
  constructor(chalk: ChalkInstance, floor: number) {
    this.#chalk = chalk;
    this.#largest = floor;
  }

  get largest(): number {
    return this.#largest;
  }

  paint(text: string, score: number): string {
    this.#largest = Math.max(this.#largest, score);
    const share = score / this.#largest;
    // Below a sixth nothing is painted; the rest is divided evenly.
    const shade = Math.min(SHADES.length - 1, Math.floor(share * (SHADES.length + 1)) - 1);
    // A painted line break would colour the rest of the line.
    return shade < 0 ? text : text.replace(/[^\r\n]+/g, (part) => this.#shade(shade)(part));
  }

  /** Text without a score, which is not a score of zero. */
  dim(text: string): string {
    return this.#chalk.dim(text);
  }

  legend(): string {
    const swatches = SHADES.map((_, shade) => this.#shade(shade)('  ')).join('');
    return `certain ${swatches} uncertain (${this.#largest.toPrecision(3)})`;
  }

  #shade(shade: number): ChalkInstance {
    const background = this.#chalk.bgRgb(...SHADES[shade]!);
    return shade >= DARK_FROM ? background.whiteBright : background.black;
  }
}
