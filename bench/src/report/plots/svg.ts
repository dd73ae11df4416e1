import type { Config, TopLevelSpec } from 'vega-lite';

/** Fonts of the reader's system, and colours of the page, which are others in the dark. */
const CONFIG: Config = {
  background: 'transparent',
  font: 'system-ui, sans-serif',
  view: { stroke: null },
  axis: {
    labelFontSize: 12,
    titleFontSize: 12,
    titleFontWeight: 'normal',
    labelColor: 'var(--muted)',
    titleColor: 'var(--muted)',
    gridColor: 'var(--line)',
    domainColor: 'var(--faint)',
    tickColor: 'var(--faint)',
  },
  legend: {
    labelFontSize: 12,
    labelColor: 'var(--ink)',
    titleColor: 'var(--muted)',
  },
};

/** A picture that needs no script. Its text is escaped by vega, which is loaded when it is needed. */
export async function toSvg(spec: TopLevelSpec): Promise<string> {
  const [{ parse, View }, { compile }] = await Promise.all([import('vega'), import('vega-lite')]);
  const view = new View(parse(compile(spec, { config: CONFIG }).spec), { renderer: 'none' });
  try {
    return await view.toSVG();
  } finally {
    view.finalize();
  }
}

/** The colours of the page in the light: there they are variables, which other programs than browsers do not read. */
const COLOURS: Readonly<Record<string, string>> = {
  ink: '#1f2328',
  muted: '#59636e',
  line: '#e6e9ec',
  faint: '#b3bac1',
  'series-1': '#c2500a',
  'series-2': '#0a5fb0',
  'series-3': '#4a7a1e',
};
const GROUND = '<rect width="100%" height="100%" fill="#fff"/>';

/** A picture of {@link toSvg} as a file of its own, on white. @throws RangeError for a variable without a colour */
export function standalone(svg: string): string {
  const coloured = svg.replace(/var\(--([\w-]+)\)/g, (_, name: string) => {
    const colour = COLOURS[name];
    if (colour === undefined) throw new RangeError(`--${name} has no colour`);
    return colour;
  });
  return `${coloured.replace(/<svg[^>]*>/, (tag) => tag + GROUND)}\n`;
}

/** A picture that is a file of its own. */
export const standaloneSvg = async (spec: TopLevelSpec): Promise<string> => standalone(await toSvg(spec));
