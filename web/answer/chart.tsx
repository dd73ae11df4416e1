import { type Answer, formatRisk, isOver, riskHeight } from 'flinch-client';
import type { Method } from 'flinch-client/protocol';
import { type ReactNode, useEffect, useMemo, useRef, useState } from 'react';
import uPlot from 'uplot';
import { formatScore, METHOD_WORDS } from '../words.js';
import { type ChartData, chartData } from './chart-data.js';
import { methodsOf } from './queries.js';
import { useThrottled } from './use-throttled.js';

const HEIGHT_PX = 180;
/** How often the chart of a growing answer is drawn anew. */
const REDRAW_MS = 150;
const RISK_TICKS = [0, 0.9, 0.99, 0.999];

/** Dashes tell the lines apart without colours, which are custom properties of the page. */
const DASHES: Readonly<Partial<Record<Method, readonly number[]>>> = {
  entropy: [5, 3],
  margin: [1.5, 2.5],
  random: [8, 3, 2, 3],
  tokur_tu: [5, 3],
  tokur_au: [1.5, 2.5],
};

export interface ChartProps {
  readonly answer: Answer;
  readonly method: Method;
  readonly active: number | null;
  readonly onPoint: (index: number | null) => void;
  /** A click on a token's bar. */
  readonly onPick: (index: number) => void;
}

/**
 * The scores along the answer: bars for the method that colours the text, a line for each of the others, the threshold,
 * and the risk of each step. Dragging over it zooms in, a double click out.
 */
export function Chart({ answer: latest, method, active, onPoint, onPick }: ChartProps): ReactNode {
  const answer = useThrottled(latest, isOver(latest) ? 0 : REDRAW_MS);
  const data = useMemo(() => chartData(answer, method), [answer, method]);
  const host = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  /** Whether the pointer is in the plot. */
  const inside = useRef(false);
  const now = useRef({ data, onPoint, onPick });
  now.current = { data, onPoint, onPick };
  // Colours and series are fixed once a plot is made.
  const dark = useDark();
  const kind = JSON.stringify([dark, method, data.lines.map((line) => line.method), data.top === null]);

  useEffect(() => {
    if (!host.current) return;
    const made = new uPlot(
      optionsOf(host.current, method, () => now.current, inside),
      columns(now.current.data),
      host.current,
    );
    plot.current = made;
    const { current } = host;
    const observer = new ResizeObserver(() =>
      made.setSize({ width: current.clientWidth, height: HEIGHT_PX }),
    );
    observer.observe(current);
    return () => {
      observer.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, [kind]);
  useEffect(() => {
    plot.current?.setData(columns(data));
  }, [data]);
  useEffect(() => {
    const made = plot.current;
    if (!made || inside.current) return; // there it is the pointer's
    const left = active === null ? -10 : made.valToPos(active, 'x');
    made.setCursor({ left, top: 0 }, false);
  }, [active, kind]);

  return (
    <figure className="curve">
      <figcaption>
        {data.top === null
          ? 'Each token: higher than this share of ordinary tokens'
          : 'Score by token, each method on its own scale'}
      </figcaption>
      <div ref={host} className="curve-plot" aria-hidden="true" />
      <p className="curve-methods">
        {methodsOf(answer).map((each) => (
          <span key={each}>
            <Swatch method={each} bar={each === method} />
            {METHOD_WORDS[each].name}
            {data.top === null && !data.rated.includes(each) ? ' (own scale)' : ''}
          </span>
        ))}
      </p>
    </figure>
  );
}

function Swatch({ method, bar }: { readonly method: Method; readonly bar: boolean }): ReactNode {
  const colour = { color: `var(--line-${method})` };
  return (
    <svg viewBox="0 0 24 8" className="curve-sample" aria-hidden="true" style={colour}>
      {bar ? (
        <rect x="4" width="16" height="8" fill="currentcolor" opacity="0.6" />
      ) : (
        <path d="M0 4h24" stroke="currentcolor" strokeWidth="2" strokeDasharray={DASHES[method]?.join(' ')} />
      )}
    </svg>
  );
}

const lastOf = ({ tokens }: ChartData): number => Math.max(tokens.length, 16) - 0.5;

const columns = ({ tokens, bars, unscored, lines }: ChartData): uPlot.AlignedData => [
  [...tokens],
  [...bars],
  [...unscored],
  ...lines.map(({ heights }) => [...heights]),
];

interface Now {
  readonly data: ChartData;
  readonly onPoint: (index: number | null) => void;
  readonly onPick: (index: number) => void;
}

function optionsOf(
  host: HTMLElement,
  method: Method,
  now: () => Now,
  inside: { current: boolean },
): uPlot.Options {
  const style = getComputedStyle(host);
  const colour = (name: string): string => resolved(host, style.getPropertyValue(name));
  const [line, muted] = [colour('--line'), colour('--muted')];
  const byRisk = now().data.top === null;
  const bars = (stroke: string): Partial<uPlot.Series> => ({
    stroke,
    fill: stroke,
    width: 0,
    paths: uPlot.paths.bars!({ size: [0.8] }),
    points: { show: false },
  });
  return {
    width: host.clientWidth,
    height: HEIGHT_PX,
    padding: [8, 8, 0, 0],
    legend: { show: false },
    cursor: {
      y: false,
      points: { show: false },
      drag: { x: true, y: false },
    },
    scales: {
      x: {
        time: false,
        range: (_plot, min, max) => (min === 0 || max === null ? [-0.5, lastOf(now().data)] : [min, max]),
      },
      y: { range: [0, 1] },
    },
    series: [
      {},
      bars(`color-mix(in srgb, ${colour(`--line-${method}`)} 60%, transparent)`),
      bars(colour('--faint')),
      ...now().data.lines.map(({ method: each }) => ({
        stroke: colour(`--line-${each}`),
        width: 1.5,
        points: { show: false },
        ...(DASHES[each] && { dash: [...DASHES[each]] }),
      })),
    ],
    axes: [
      {
        stroke: muted,
        grid: { show: false },
        ticks: { stroke: line },
        size: 28,
        font: '11px system-ui',
        incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000], // tokens are whole
      },
      {
        stroke: muted,
        grid: { stroke: line, width: 1 },
        ticks: { show: false },
        size: 52,
        font: '11px system-ui',
        splits: () => (byRisk ? RISK_TICKS.map(riskHeight) : [0, 1]),
        values: () => (byRisk ? RISK_TICKS.map(formatRisk) : ['0', formatScore(now().data.top ?? 0)]),
      },
    ],
    hooks: {
      ready: [
        (plot) => {
          // After its own listener, which keeps the click at the end of a drag.
          plot.over.addEventListener('click', () => {
            const index = now().data.tokens[plot.cursor.idx ?? -1];
            if (index !== undefined) now().onPick(index);
          });
          plot.over.addEventListener('mouseenter', () => {
            inside.current = true;
          });
          plot.over.addEventListener('mouseleave', () => {
            inside.current = false;
            now().onPoint(null);
          });
        },
      ],
      draw: [(plot) => drawSteps(plot, now().data, { alarm: colour('--flinch-alarm'), muted })],
      setCursor: [
        (plot) => {
          // The page sets it, too.
          if (inside.current) now().onPoint(now().data.tokens[plot.cursor.idx ?? -1] ?? null);
        },
      ],
    },
  };
}

/** Threshold and steps, over the bars. */
function drawSteps(plot: uPlot, data: ChartData, { alarm, muted }: { alarm: string; muted: string }): void {
  const { ctx, bbox } = plot;
  const across = (
    from: number,
    to: number,
    height: number,
    stroke: string,
    width: number,
    dash: number[],
  ) => {
    ctx.beginPath();
    ctx.strokeStyle = stroke;
    ctx.lineWidth = width * devicePixelRatio;
    ctx.setLineDash(dash.map((length) => length * devicePixelRatio));
    const y = plot.valToPos(height, 'y', true);
    ctx.moveTo(plot.valToPos(from - 0.5, 'x', true), y);
    ctx.lineTo(plot.valToPos(to - 0.5, 'x', true), y);
    ctx.stroke();
  };
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  for (const { from, to, height, flagged } of data.steps) {
    across(from, to, height, flagged ? alarm : muted, flagged ? 4 : 2, []);
  }
  if (data.threshold !== null) {
    across(plot.scales.x?.min ?? 0, (plot.scales.x?.max ?? 0) + 1, data.threshold, alarm, 1, [6, 4]);
  }
  ctx.restore();
}

/** A canvas knows no `light-dark()`. */
function resolved(host: HTMLElement, value: string): string {
  const probe = document.createElement('span');
  probe.style.color = value;
  host.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

/** Changes with the colours of the page. */
function useDark(): boolean {
  const query = useMemo(() => matchMedia('(prefers-color-scheme: dark)'), []);
  const [dark, setDark] = useState(query.matches);
  useEffect(() => {
    const changed = () => setDark(query.matches);
    query.addEventListener('change', changed);
    return () => query.removeEventListener('change', changed);
  }, []);
  return dark;
}
