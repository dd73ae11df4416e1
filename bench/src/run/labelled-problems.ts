import { defaultDataFolder, suiteFolder } from '../data/folder.js';
import type { BenchProblem, GivenResponse } from '../suites/suite.js';
import { suites } from '../suites/suites.js';

export interface LabelledOptions {
  readonly data?: string;
  readonly subsets?: string[];
}

/** A response of which people have labelled the first wrong step. */
export interface LabelledProblem extends BenchProblem {
  readonly given: GivenResponse & { readonly firstWrong: number };
}

/** The responses of ProcessBench with a mistake. */
export async function labelledProblems({
  data,
  subsets,
}: LabelledOptions): Promise<readonly LabelledProblem[]> {
  const suite = suites.processbench;
  const folder = suiteFolder(data ?? defaultDataFolder(), suite.name);
  const all = await suite.load({ folder, subsets: subsets ?? null, seed: 0, count: 0 });
  return all.filter(hasMistake);
}

const hasMistake = (problem: BenchProblem): problem is LabelledProblem =>
  problem.given !== null && problem.given.firstWrong !== null;
