import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { buildPaper } from '#bench/report/build.js';
import { renderPage } from '#bench/report/page.js';
import { readPaper } from '#bench/report/paper/paper-tables.js';
import { misnested, textOf } from '../../support/markup.js';

const PRODUCT = 'bench/assets/paper-tables.json';
const SHARED = '../shared/data/paper_tables.json';
if (!existsSync(SHARED)) console.warn(`the paper's tables are not compared with ${SHARED}: it is not here`);

const cellsSchema = z.object({
  cells: z.array(
    z.object({
      table: z.string(),
      dataset: z.string(),
      level: z.string(),
      model: z.string(),
      modelLabel: z.string(),
      method: z.string(),
      methodLabel: z.string(),
      metric: z.string(),
      value: z.number(),
      bold: z.boolean(),
    }),
  ),
  accuracies: z.array(
    z.object({ table: z.string(), dataset: z.string(), model: z.string(), accuracy: z.number() }),
  ),
});
const { cells, accuracies } = cellsSchema.parse(JSON.parse(readFileSync(PRODUCT, 'utf8')));

const LEVEL = {
  token: 'token level',
  sentence: 'sentence level',
  statement: 'statements',
  response: 'final answer',
};
const METRIC = {
  top1: 'Top 1',
  top2: 'Top 2',
  top3: 'Top 3',
  top5: 'Top 5',
  top1pct: 'Top 1 %',
  auroc: 'AUROC',
  ap: 'AP',
};
const look = (names: Readonly<Record<string, string>>, key: string): string => names[key] ?? key;
type Cell = (typeof cells)[number];

const captionOf = (caption: string): string => caption.replace(/\. The paper: .*/s, '');
const placeOf = ({ dataset, level, modelLabel, methodLabel, metric }: Cell): string =>
  [`${dataset}, ${look(LEVEL, level)}`, modelLabel, methodLabel, look(METRIC, metric)].join(' | ');
/** MATH and BBH stand twice, at two temperatures, as two tables of one name. */
const byTable = (table: string) => cells.filter((cell) => cell.table === table);
const IDS = [...new Set(cells.map(({ table }) => table))];
const printed = ({ value, level }: Cell): string =>
  value.toFixed(level === 'token' || level === 'sentence' ? 2 : 3);

const paper = readPaper();
const tablesOf = (id: string) =>
  buildPaper({ ...paper, tables: paper.tables.filter((table) => table.id === id) });

/** Every cell by its place on the page, whose markup is regular. */
function pageCells(id: string): Map<string, string> {
  const found = new Map<string, string>();
  const page = renderPage(tablesOf(id));
  for (const [, caption, table] of page.matchAll(
    /<figcaption>(.*?)<\/figcaption>.*?<table>(.*?)<\/table>/gs,
  )) {
    const groups = [...table!.matchAll(/colspan="(\d+)" class="group[^>]*>([^<]*)/g)];
    const models = groups.flatMap(([, span, name]) => new Array<string>(Number(span)).fill(name!));
    const metrics = [...table!.matchAll(/<th scope="col" class="[^"]*">([^<]*)/g)].map(([, name]) => name!);
    for (const [, row] of table!.matchAll(/<tr>(<th scope="row">.*?)<\/tr>/gs)) {
      const [, stub] = /<th scope="row">([^<]*)/.exec(row!) ?? [];
      const values = [...row!.matchAll(/<td class="[^"]*">(.*?)<\/td>/g)].map(([, value]) => value!);
      for (const [i, value] of values.entries())
        found.set([captionOf(caption!), models[i], stub, metrics[i]].join(' | '), value);
    }
  }
  return found;
}

describe('the paper’s tables, rendered with its own numbers', () => {
  it('are all there', () => {
    expect(cells).toHaveLength(636);
    expect(accuracies).toHaveLength(22);
    expect(paper.tables).toHaveLength(13);
  });

  it.each(IDS)('%s: every cell in its place, the same ones bold', (id) => {
    const expected = byTable(id);
    const page = pageCells(id);
    expect(page).toEqual(
      new Map(expected.map((cell) => [placeOf(cell), cell.bold ? `<b>${printed(cell)}</b>` : printed(cell)])),
    );
    expect(page.size).toBe(expected.length);
  });

  it('say the accuracy of each model, how many responses, and the half width that follows', () => {
    for (const { id, dataset, responses, caption, models } of paper.tables) {
      for (const model of models) {
        const known = accuracies.find(
          (row) => row.table === id && row.dataset === dataset && row.model === model.name,
        );
        expect(model.accuracy).toBe(known?.accuracy ?? null);
        if (known)
          expect(textOf(renderPage(tablesOf(id)))).toContain(
            `${model.label} Acc ${known.accuracy.toFixed(2)}`,
          );
      }
      const stated = /±(0\.\d+) for (\d+) /.exec(caption);
      if (!stated) continue;
      expect(responses).toBe(Number(stated[2]));
      expect((1.96 * Math.sqrt(0.25 / responses!)).toFixed(3)).toBe(stated[1]);
      expect(renderPage(tablesOf(id))).toContain(`n = ${responses}`);
    }
  });

  it('are a page in which every tag is closed', () => {
    expect(misnested(renderPage(buildPaper(paper)))).toBeNull();
  });

  it.skipIf(!existsSync(SHARED))('are copied without a change', () => {
    const shared = JSON.parse(readFileSync(SHARED, 'utf8'));
    const key = (row: Record<string, unknown>) => JSON.stringify(Object.values(row));
    expect(cells.map(key)).toEqual(
      shared.results.map((row: Record<string, unknown>) =>
        key({
          table: row.table_id,
          dataset: row.dataset,
          level: row.level,
          model: row.model,
          modelLabel: row.model_label,
          method: row.method,
          methodLabel: row.method_label,
          metric: row.metric,
          value: row.value,
          bold: row.bold,
        }),
      ),
    );
    expect(accuracies.map(key)).toEqual(
      shared.accuracies.map(({ table_id, dataset, model, accuracy }: Record<string, unknown>) =>
        key({ table_id, dataset, model, accuracy }),
      ),
    );
    for (const { id, temperature, responses } of paper.tables) {
      const table = shared.tables[id];
      if (typeof table.temperature === 'number') expect(temperature).toBe(table.temperature);
      if (typeof table.n_wrong_responses === 'number') expect(responses).toBe(table.n_wrong_responses);
    }
    expect(paper.efficiency.random.seconds).toBe(shared.efficiency.rand_pert_extra_seconds_per_case);
    expect(paper.efficiency.adversarial.seconds).toBe(shared.efficiency.adv_pert_extra_seconds_per_case);
  });
});
