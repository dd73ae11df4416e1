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

/** Colours of a page are variables; a file of its own has to say them. */
const STYLE =
  '<style>svg{--ink:#1f2328;--muted:#59636e;--line:#e6e9ec;--faint:#b3bac1;background:#fff}</style>';

/** A picture that is a file of its own. */
export const standaloneSvg = async (spec: TopLevelSpec): Promise<string> =>
  `${(await toSvg(spec)).replace(/<svg[^>]*>/, (tag) => tag + STYLE)}\n`;
