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
