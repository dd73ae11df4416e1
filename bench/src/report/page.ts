import { createHash } from 'node:crypto';
import { readAsset } from './assets.js';
import { cellText } from './cell-text.js';
import type { Block, Cell, Inline, ReportDocument, Section, TableBlock } from './document.js';
import { Html, html } from './html.js';

/** By which a page of flinch is known. */
export const GENERATOR = 'flinch bench report';

/** A report as one page. */
export const renderPage = ({ title, lead, sections }: ReportDocument): string =>
  pageOf(
    { title, lead },
    html`<nav aria-label="Contents"><ul>${sections.map(
      ({ id, title: text }) => html`<li><a href="#${id}">${text}</a></li>`,
    )}</ul></nav>
<main>
${sections.map((section) => renderSection(section))}
</main>`,
  );

/**
 * A page that loads nothing, and is well-formed as XML too, so that any parser can check it. Its policy forbids what it does
 * not need, should anything of a model's text ever get through as markup.
 * @param script the only one that may run; none by default
 */
export function pageOf(
  { title, lead }: Pick<ReportDocument, 'title' | 'lead'>,
  body: Html,
  script: string | null = null,
): string {
  const text = script && `//<![CDATA[\n${script}//]]>`;
  const policy = text ? `; script-src 'sha256-${createHash('sha256').update(text).digest('base64')}'` : '';
  const page = html`<html lang="en">
<head>
<meta charset="utf-8" />
<meta name="generator" content="${GENERATOR}" />
<meta name="viewport" content="width=device-width, initial-scale=1" />
<meta name="color-scheme" content="light dark" />
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:${new Html(policy)}" />
<link rel="icon" href="data:," />
<title>${[title, ...lead].join(' · ')}</title>
<style>${new Html(readAsset('page.css'))}</style>
</head>
<body>
<header>
<h1>${title}</h1>
<ul class="runs">${lead.map((line) => html`<li>${line}</li>`)}</ul>
</header>
${body}
${text && html`<script>${new Html(text)}</script>`}
</body>
</html>
`;
  return `<!DOCTYPE html>\n${page.markup}`;
}

function renderSection({ id, title, blocks }: Section): Html {
  return html`<section id="${id}" aria-labelledby="${id}-title">
<h2 id="${id}-title">${title}</h2>
${blocks.map(renderBlock)}
</section>
`;
}

function renderBlock(block: Block): Html {
  switch (block.kind) {
    case 'heading':
      return html`<h3>${block.text}</h3>\n`;
    case 'text':
      return html`<p>${renderInline(block.text)}</p>\n`;
    case 'list':
      return html`<ul>${block.items.map((item) => html`<li>${renderInline(item)}</li>`)}</ul>\n`;
    case 'code':
      return html`<pre><code>${block.text}</code></pre>\n`;
    case 'table':
      return renderTable(block);
  }
}

const renderInline = (text: Inline): Html[] =>
  (typeof text === 'string' ? [text] : text).map((part) =>
    typeof part === 'string' ? html`${part}` : html`<a href="${part.href}">${part.text}</a>`,
  );

function renderTable(block: TableBlock): Html {
  const { caption, notes, folded } = block;
  const inner = html`<div class="scroll" role="region" tabindex="0" aria-label="${caption}">
${renderGrid(block)}</div>
${notes.map((note) => html`<p class="note">${note}</p>\n`)}`;
  return folded
    ? html`<details class="table"><summary>${caption}</summary>\n${inner}</details>\n`
    : html`<figure class="table"><figcaption>${caption}</figcaption>\n${inner}</figure>\n`;
}

function renderGrid({ stub, groups, parts }: TableBlock): Html {
  const grouped = groups.some(({ label }) => label !== null);
  const first = parts[0]?.[0];
  const kinds = first?.cells.map(kindOf) ?? [];
  const columns = groups.flatMap(({ columns: own }, group) =>
    own.map((column, i) => ({ column, opens: grouped && i === 0 && group > 0 })),
  );
  const classOf = (i: number): string => `${kinds[i] ?? 'text'}${columns[i]?.opens ? ' opens' : ''}`;
  const head = html`<tr>${grouped ? null : html`<th scope="col">${stub}</th>`}${columns.map(
    ({ column }, i) => html`<th scope="col" class="${classOf(i)}">${column}</th>`,
  )}</tr>`;
  const top = html`<tr><th scope="col" rowspan="2">${stub}</th>${groups.map(
    ({ label, detail, columns: own }, i) =>
      html`<th scope="colgroup" colspan="${own.length}" class="group${i > 0 ? ' opens' : ''}">${label}${
        detail === null ? null : html`<small>${detail}</small>`
      }</th>`,
  )}</tr>`;
  return html`<table>
<thead>${grouped ? top : null}${head}</thead>
${parts.map(
  (part) => html`<tbody>
${part.map(
  ({ label, cells }) =>
    html`<tr><th scope="row">${label}</th>${cells.map(
      (cell, i) => html`<td class="${classOf(i)}">${renderCell(cell)}</td>`,
    )}</tr>\n`,
)}</tbody>
`,
)}</table>
`;
}

const kindOf = (cell: Cell): 'text' | 'number' => (typeof cell === 'string' ? 'text' : 'number');

function renderCell(cell: Cell): Html {
  const { main, best, interval, n, paper } = cellText(cell);
  return html`${strong(main, best)}${interval && html`<small>${interval}</small>`}${n && html`<small>${n}</small>`}${
    paper && html`<small class="paper">${strong(paper.text, paper.best)}</small>`
  }`;
}

const strong = (text: string, is: boolean): Html => (is ? html`<b>${text}</b>` : html`${text}`);
