import type { FocusEvent, KeyboardEvent, PointerEvent, RefObject } from 'react';

export interface TokenHandlers {
  readonly onPointerOver: (event: PointerEvent) => void;
  readonly onPointerLeave: (event: PointerEvent) => void;
  readonly onFocus: (event: FocusEvent) => void;
  readonly onBlur: (event: FocusEvent) => void;
  readonly onKeyDown: (event: KeyboardEvent) => void;
}

/**
 * Handlers for an element with tokens in it, elements with `data-index`: the pointer points to the token under it, the
 * keyboard to the next one. The element itself has the focus, so that Tab leaves the text at once; while it has, as
 * after a tap, its token stays.
 */
export function useTokenNavigation(
  root: RefObject<HTMLElement | null>,
  active: number | null,
  point: (index: number | null) => void,
): TokenHandlers {
  const hasFocus = () => root.current !== null && root.current === document.activeElement;
  return {
    onPointerOver: ({ target }) => {
      const index = indexOf(target);
      if (index !== null) point(index);
    },
    onPointerLeave: ({ pointerType }) => {
      if (pointerType !== 'touch' && !hasFocus()) point(null);
    },
    onFocus: ({ target }) => {
      if (target !== root.current || active !== null || !target.matches(':focus-visible')) return;
      point(indexOf(target.querySelector('[data-index]')));
    },
    onBlur: ({ target }) => {
      if (target === root.current) point(null);
    },
    onKeyDown: (event) => {
      const { key, altKey, ctrlKey, metaKey, currentTarget } = event;
      if (altKey || ctrlKey || metaKey) return;
      if (key === 'Escape' && active !== null) {
        point(null);
        event.stopPropagation(); // what is meant is the token, not the answer
      }
      const goal = goalOf(key, firstElements(currentTarget), active);
      if (!goal) return;
      event.preventDefault();
      goal.scrollIntoView({ block: 'nearest' });
      point(indexOf(goal));
    },
  };
}

/** The tokens in their order, each by the first of its elements. */
function firstElements(root: Element): readonly HTMLElement[] {
  const first = new Map<number | null, HTMLElement>();
  for (const element of root.querySelectorAll<HTMLElement>('[data-index]')) {
    const index = indexOf(element);
    if (!first.has(index)) first.set(index, element);
  }
  return [...first.values()];
}

function goalOf(key: string, all: readonly HTMLElement[], active: number | null): HTMLElement | undefined {
  if (key === 'Home') return all[0];
  if (key === 'End') return all.at(-1);
  const at = all.findIndex((token) => indexOf(token) === active);
  if (key === 'ArrowLeft') return all[Math.max(0, at - 1)];
  if (key === 'ArrowRight') return all[Math.min(all.length - 1, at + 1)];
  if (key === 'ArrowUp') return onNextLine(all, at, -1);
  return key === 'ArrowDown' ? onNextLine(all, at, 1) : undefined;
}

/** The token nearest in x on the line above (−1) or below (1); the same token if there is no such line. */
function onNextLine(all: readonly HTMLElement[], at: number, direction: 1 | -1): HTMLElement | undefined {
  const from = all[at];
  if (!from) return all[0];
  const { left, top } = boxOf(from);
  let nearest = from;
  let line: number | null = null;
  let distance = Number.POSITIVE_INFINITY;
  for (let other = at + direction; all[other]; other += direction) {
    const box = boxOf(all[other]!);
    if (Math.abs(box.top - top) < box.height / 2) continue;
    line ??= box.top;
    if (Math.abs(box.top - line) >= box.height / 2) break;
    if (Math.abs(box.left - left) >= distance) continue;
    distance = Math.abs(box.left - left);
    nearest = all[other]!;
  }
  return nearest;
}

/** Rectangle of an element on the screen: of its first piece if it runs over the end of a line. */
export const boxOf = (element: Element): DOMRect =>
  element.getClientRects()[0] ?? element.getBoundingClientRect();

function indexOf(target: EventTarget | null): number | null {
  const token = target instanceof Element ? target.closest<HTMLElement>('[data-index]') : null;
  return token ? Number(token.dataset.index) : null;
}
