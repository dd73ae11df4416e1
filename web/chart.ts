import { element } from './dom.js';

const STORED = 'flinch.chart';

/** Folds the curves of an answer away. At most one chart of the page is open: the elements share a name. */
export class Chart {
  readonly element = element('details', { class: 'chart', name: 'chart' });

  constructor(curves: HTMLElement) {
    const summary = element('summary', {}, 'Chart');
    summary.addEventListener('click', () => {
      localStorage.setItem(STORED, this.element.open ? 'closed' : 'open');
    });
    this.element.append(summary, curves);
  }

  /** Opens the chart once it is on the page, unless the user had folded the last one. */
  open(): void {
    this.element.open = localStorage.getItem(STORED) !== 'closed';
  }
}
