import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { transform } from 'esbuild';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type Block,
  commandsOf,
  type Document,
  fileNameOf,
  isProgram,
  isShell,
  placeOf,
  programsOf,
} from '../support/documents.js';
import { useGateway } from '../support/gateway.js';
import { useScratchPackages } from '../support/scratch-package.js';
import { isServer, Terminal } from '../support/terminal.js';

/** The slowest takes seconds. */
const PROGRAM_LIMIT_MS = 90_000;

const isRun = (block: Block): boolean => (isShell(block) || isProgram(block)) && block.notRun === null;

/** Those of `npm test`; `npm run test:all` runs the other pages, too. */
export const isReadme = ({ file }: Document): boolean => file.endsWith('README.md');

/**
 * Runs every command and program of documents as their reader would. A block that cannot run here says why in a comment
 * right above it, `<!-- not run: needs Docker -->`. A block whose first line is a comment with the name of a file is that
 * file, for the blocks after it.
 */
export function runDocuments(documents: readonly Document[]): void {
  const scratch = useScratchPackages();
  /** What documents mean by "a gateway that runs". */
  const gateway = useGateway();

  const notRun = documents.flatMap(({ blocks }) => blocks.filter((block) => block.notRun !== null));
  afterAll(() => {
    const lines = notRun.map((block) => `  ${placeOf(block)}: ${block.notRun}`);
    console.info(`Documented, and not run here:\n${lines.join('\n')}`);
  });

  describe.each(documents.filter(({ blocks }) => blocks.some(isRun)))('$file', ({ blocks }) => {
    const programs = new Map(programsOf(blocks).map((program) => [program.line, program]));
    let folder = '';
    let terminal: Terminal;
    beforeAll(() => {
      folder = scratch();
      terminal = new Terminal(folder, new URL(gateway.url).port);
    });
    // A server that does not end in a minute is told with its output.
    afterAll(async () => {
      expect(await terminal.close()).toEqual([]);
    });

    for (const block of blocks) {
      const name = fileNameOf(block);
      const title = `line ${block.line}: ${block.text.split('\n')[0]}`;
      if (name !== null) {
        it(title, () => writeFileSync(join(folder, name), terminal.withPorts(block.text)));
      } else if (block.notRun !== null) {
        // It is in the list.
      } else if (isShell(block)) {
        const commands = commandsOf(block);
        it(title, () => (isServer(commands) ? terminal.serve(commands) : terminal.run(commands)));
      } else if (isProgram(block)) {
        it(title, async () => {
          const { text } = programs.get(block.line)!;
          const { code } = await transform(terminal.withPorts(text), { loader: 'ts' });
          writeFileSync(join(folder, `line-${block.line}.mjs`), code);
          // One that failed without a word, or waits for ever, is no answer.
          const output = await terminal.run(`node line-${block.line}.mjs`, PROGRAM_LIMIT_MS);
          expect(output.trim()).not.toBe('');
        });
      }
    }
  });
}
