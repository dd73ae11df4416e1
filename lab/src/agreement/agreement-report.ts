import { type Machine, table, thisMachine } from '#bench/markdown-table.js';
import { heading } from '#cli/format.js';
import { mean } from './means.js';
import { polygraphRows, writtenBy } from './polygraph-rows.js';
import { having, type Results, type Row } from './row.js';
import { thinkboosterRows } from './thinkbooster-rows.js';
import { uqlmRows } from './uqlm-rows.js';

/** Seconds of processor time for an answer. */
export interface Time {
  readonly program: string;
  readonly what: string;
  readonly seconds: number;
}

export interface AgreementReport {
  readonly model: string;
  readonly machine: Machine;
  readonly versions: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly answers: number;
  readonly tokens: number;
  readonly rows: readonly Row[];
  readonly times: readonly Time[];
  readonly votes: readonly {
    readonly flinch: readonly (string | null)[];
    readonly thinkbooster: readonly string[];
  }[];
  /** Tokens of the answers at temperature 0, and how many of the first that lm-polygraph writes itself are the same. */
  readonly written: readonly { readonly given: number; readonly same: number }[];
  /** Tokens by what makes CCP differ. */
  readonly ccp: { readonly functional: number; readonly outside: number };
}

export function reportOf(results: Results, model: string): AgreementReport {
  const { answers, flinch, questions, polygraph, uqlm, thinkbooster } = results;
  const tokens = flinch.flatMap(({ functional, ccpAsPolygraph }) =>
    functional.map((one, i) => ({ functional: one, outside: ccpAsPolygraph[i] === null })),
  );
  return {
    model,
    machine: thisMachine(),
    versions: Object.fromEntries(
      Object.entries({ polygraph, uqlm, thinkbooster }).map(([name, lines]) => [
        name,
        having<(typeof lines)[number], 'versions'>(lines, 'versions')[0]!.versions,
      ]),
    ),
    answers: answers.length,
    tokens: tokens.length,
    rows: [...polygraphRows(results), ...uqlmRows(results), ...thinkboosterRows(results)],
    times: timesOf(results),
    votes: having(thinkbooster, 'votes').map(({ question, answers }) => ({
      flinch: questions.get(question)!.finals,
      thinkbooster: answers,
    })),
    written: writtenBy(results).map(({ given, same }) => ({ given, same })),
    ccp: {
      functional: tokens.filter(({ functional }) => functional).length,
      outside: tokens.filter(({ outside }) => outside).length,
    },
  };
}

/** Each with the pass that it needs. */
function timesOf({ flinch, polygraph, uqlm, thinkbooster }: Results): Time[] {
  const time = (program: string, what: string, seconds: readonly number[]): Time => ({
    program,
    what,
    seconds: mean(seconds),
  });
  const poly = having(polygraph, 'perplexity').map(({ seconds }) => seconds);
  const meant = having(polygraph, 'ccp').map(({ seconds: { ccp = 0, token_sar = 0 } }, i) => ({
    pass: poly[i]?.pass ?? 0,
    ccp,
    token_sar,
  }));
  const own = having(polygraph, 'own').map(({ seconds }) => seconds);
  const white = having(uqlm, 'probability_margin').map(({ seconds }) => seconds);
  const think = having(thinkbooster, 'pd_gap').map(({ seconds }) => seconds);
  return [
    time(
      'flinch',
      'NLL, entropy, margin',
      flinch.map(({ seconds }) => seconds.pass),
    ),
    time(
      'lm-polygraph',
      'NLL, entropy',
      poly.map(({ pass = 0, entropy = 0 }) => pass + entropy),
    ),
    time(
      'uqlm',
      'NLL, entropy and margin of 15',
      white.map(({ pass = 0, single = 0, top = 0 }) => pass + single + top),
    ),
    time(
      'thinkbooster',
      'NLL, entropy of 20, margin',
      think.map(({ pass = 0, entropy = 0, pd_gap = 0 }) => pass + entropy + pd_gap),
    ),
    time(
      'flinch',
      'CCP',
      flinch.map(({ seconds }) => seconds.ccp),
    ),
    time(
      'lm-polygraph',
      'CCP',
      meant.map(({ pass, ccp }) => pass + ccp),
    ),
    time(
      'flinch',
      'TokenSAR',
      flinch.map(({ seconds }) => seconds.token_sar),
    ),
    time(
      'lm-polygraph',
      'TokenSAR',
      meant.map(({ pass, token_sar }) => pass + token_sar),
    ),
    time(
      'lm-polygraph',
      'write the answer and score NLL',
      own.map(({ own = 0 }) => own),
    ),
  ];
}

export function formatAgreement({ rows, times, answers, tokens, model }: AgreementReport): string {
  return [
    heading(`${answers} answers of ${model}, ${tokens} tokens`),
    agreementTable(rows),
    heading('seconds of processor time for an answer, one thread'),
    timesTable(times),
  ].join('\n\n');
}

export const agreementTable = (rows: readonly Row[]): string =>
  table(
    [
      'peer',
      'its measure',
      "flinch's",
      'compared',
      'largest difference',
      'mean difference',
      'rank correlation',
    ],
    rows.map(({ peer, measure, ours, of, deviation: { count, max, mean, rank } }) => [
      ...[peer, measure, ours, `${count} ${of}`, short(max), short(mean)],
      rank === null ? '' : rank.toFixed(4),
    ]),
  );

export const timesTable = (times: readonly Time[]): string =>
  table(
    ['what', 'program', 'seconds'],
    times.map(({ what, program, seconds }) => [what, program, seconds.toFixed(3)]),
  );

const short = (value: number): string =>
  value === 0 ? '0' : value >= 0.001 ? value.toFixed(4) : value.toExponential(1);
