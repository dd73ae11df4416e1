import type { WrittenEstimate } from '../records/evaluation.js';

/** A report as data: what is said, apart from how a page writes it. All texts are plain. */
export interface ReportDocument {
  readonly title: string;
  readonly lead: readonly string[];
  readonly sections: readonly Section[];
}

export interface Section {
  /** Id for links to the section. */
  readonly id: string;
  readonly title: string;
  readonly blocks: readonly Block[];
}

export type Block =
  | { readonly kind: 'heading'; readonly text: string }
  | { readonly kind: 'text'; readonly text: Inline }
  | { readonly kind: 'list'; readonly items: readonly Inline[] }
  | { readonly kind: 'code'; readonly text: string }
  | TableBlock;

/** Text with links in it. */
export type Inline = string | readonly (string | { readonly text: string; readonly href: string })[];

export interface TableBlock {
  readonly kind: 'table';
  readonly caption: string;
  /** Heading of the rows' labels. */
  readonly stub: string;
  readonly groups: readonly ColumnGroup[];
  /** Parts are divided by a line. */
  readonly parts: readonly (readonly Row[])[];
  readonly notes: readonly string[];
  /** Closed until it is asked for, on a page. */
  readonly folded: boolean;
}

export interface ColumnGroup {
  readonly label: string | null;
  /** Detail of all columns of the group: number of cases, accuracy. */
  readonly detail: string | null;
  readonly columns: readonly string[];
}

export interface Row {
  readonly label: string;
  readonly cells: readonly Cell[];
}

/** A text, a count, a measured number, or a p-value; `null` where there is none. */
export type Cell = string | number | null | EstimateCell | { readonly p: number };

/** Its value is `null` where it is not defined for these cases, or {@link UNMEASURED}. */
export interface EstimateCell extends WrittenEstimate {
  readonly digits: number;
  /** Nobody measured it. */
  readonly unmeasured?: boolean;
  /** A difference, written with its sign. */
  readonly signed?: boolean;
  /** The highest of its column. */
  readonly best?: boolean;
  /** Cases, where they are not the column group's. */
  readonly n?: number | null;
  /** Value of the paper for the same model, data and temperature. */
  readonly paper?: { readonly value: number; readonly digits: number; readonly best: boolean } | null;
}

/** Where a table has a cell for what was not measured. */
export const UNMEASURED = { value: null, interval: null, unmeasured: true } as const;

/** A table without headings of groups of columns. */
export function plainTable(
  caption: string,
  columns: readonly [stub: string, ...columns: string[]],
  rows: readonly Row[],
  options: { readonly notes?: readonly string[]; readonly folded?: boolean } = {},
): TableBlock {
  const [stub, ...rest] = columns;
  return {
    kind: 'table',
    caption,
    stub,
    groups: [{ label: null, detail: null, columns: rest }],
    parts: [rows],
    notes: options.notes ?? [],
    folded: options.folded ?? false,
  };
}
