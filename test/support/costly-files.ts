import { relative } from 'node:path';
import type { Reporter, TestModule } from 'vitest/node';

const SHOWN = 10;

/** Says at the end which test files took most processor time: that of a loaded machine is comparable, too. */
export default class CostlyFiles implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    if (modules.length <= SHOWN) return;
    const rows = modules
      .map((module) => ({ file: relative('.', module.moduleId), seconds: module.meta().cpuSeconds ?? 0 }))
      .sort((a, b) => b.seconds - a.seconds);
    const sum = rows.reduce((total, { seconds }) => total + seconds, 0);
    const tests = modules.reduce((total, module) => total + [...module.children.allTests()].length, 0);
    const lines = rows
      .slice(0, SHOWN)
      .map(({ file, seconds }) => `${seconds.toFixed(1).padStart(7)} s  ${file}`);
    process.stdout.write(
      `\n${tests} tests took ${sum.toFixed(0)} s of processor time. Most of ${modules.length} files:\n${lines.join('\n')}\n`,
    );
  }
}
