import { type ReactNode, useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react';
import { type ExchangeActions, ExchangeView, type Pointed } from './answer/exchange.js';
import { Introduction } from './ask/introduction.js';
import type { PageState } from './page-state.js';
import { storeChart, storedChart } from './stored.js';
import { isMethod } from './words.js';

/** Distance to the end of the text at which the view still follows it. */
const NEAR_END_PX = 48;
/** From this width on the chart is beside the text, and open. */
const WIDE = '(min-width: 64rem)';

export interface TranscriptProps extends ExchangeActions {
  readonly state: PageState;
  /** Whether a question can be asked. */
  readonly ready: boolean;
}

/** The questions and answers, or what to ask first. It follows the text until it is scrolled away from its end. */
export function Transcript({ state, ready, ...actions }: TranscriptProps): ReactNode {
  const { turns, models, model, settings, connection } = state;
  const largerThan = (id: string): string | null => {
    const other = models.find((each) => each.id === id)?.escalatesTo ?? null;
    return models.some((each) => each.id === other) ? other : null;
  };
  const last = turns.at(-1)?.shown.id ?? null;
  const scroller = useFollowing(last);
  const [pointed, setPointed] = useState<Pointed | null>(null);
  const [openChart, setOpenChart] = useState<string | null>(null);
  useEffect(() => {
    // It is open where there is room for it, unless the user has folded the last one.
    setOpenChart((storedChart() ?? matchMedia(WIDE).matches) ? last : null);
  }, [last]);
  const toggleChart = useCallback((id: string, open: boolean) => {
    storeChart(open);
    setOpenChart(open ? id : null);
  }, []);
  const latest = useRef(actions);
  latest.current = actions;
  const stable = useMemo<ExchangeActions>(
    () => ({
      onAsk: (...question) => latest.current.onAsk(...question),
      onShow: (exchange) => latest.current.onShow(exchange),
      onDelete: (turn) => latest.current.onDelete(turn),
    }),
    [],
  );
  return (
    <main ref={scroller.ref} onScroll={scroller.onScroll}>
      {turns.length === 0 && model && <Introduction model={model} canAsk={ready} onAsk={stable.onAsk} />}
      {turns.map(({ id, shown, variants }) => (
        <ExchangeView
          key={id}
          exchange={shown}
          variants={variants}
          isLast={shown.id === last}
          larger={largerThan(shown.model)}
          chosen={isMethod(settings.colours) ? settings.colours : null}
          formatted={settings.view !== 'plain'}
          connected={connection.status === 'open'}
          canAsk={ready}
          chartOpen={openChart === shown.id}
          pointed={pointed?.exchange === shown.id ? pointed : null}
          onPoint={setPointed}
          onChart={toggleChart}
          {...stable}
        />
      ))}
    </main>
  );
}

/** Keeps the end of the last answer in view while it grows, unless somebody scrolls up. */
function useFollowing(last: string | null) {
  const ref = useRef<HTMLElement>(null);
  const follows = useRef(true);
  const top = useRef(0);
  /** How far the end of the last answer is below the view. */
  const beyond = (): number => {
    const end = [...(ref.current?.querySelectorAll('.answer') ?? [])].at(-1);
    if (!ref.current || !end) return 0;
    return end.getBoundingClientRect().bottom - ref.current.getBoundingClientRect().bottom;
  };
  useLayoutEffect(() => {
    follows.current = true;
    const end = [...(ref.current?.querySelectorAll('.answer') ?? [])].at(-1);
    if (!end) return;
    const observer = new ResizeObserver(() => {
      const distance = beyond();
      if (ref.current && follows.current && distance > 0) ref.current.scrollTop += distance;
    });
    observer.observe(end);
    return () => observer.disconnect();
  }, [last]);
  const onScroll = () => {
    const { scrollTop = 0 } = ref.current ?? {};
    if (beyond() < NEAR_END_PX) follows.current = true;
    else if (scrollTop < top.current) follows.current = false;
    top.current = scrollTop;
  };
  return { ref, onScroll };
}
