import { existsSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseDocument, readDocuments } from '../support/documents.js';

const documents = readDocuments();
const anchors = new Map(documents.map((document) => [document.file, document.anchors]));

/** Files that CONTRIBUTING.md adds in its examples. */
const NEW_FILES = new Set([
  'bench/src/suites/svamp.ts',
  'src/stream/keep-methods.ts',
  'test/fixtures/bench/svamp',
  'test/fixtures/tiny-qwen3',
  'test/stream/keep-methods.test.ts',
]);

/** @returns what is wrong with a link, if anything is; addresses of the web are not asked for */
function faultOf(file: string, link: string): string | null {
  if (/^[a-z]+:/.test(link)) return null;
  const [path = '', anchor] = decodeURI(link).split('#');
  const target = path === '' ? file : normalize(join(dirname(file), path));
  if (!existsSync(target)) return `${file}: ${link}: there is no ${target}`;
  if (anchor !== undefined && !anchors.get(target)?.has(anchor)) return `${file}: ${link}: no such heading`;
  return null;
}

describe('links of the documentation', () => {
  it('lead to files and headings that exist', () => {
    const faults = documents.flatMap(({ file, links }) => links.map((link) => faultOf(file, link)));
    expect(faults.length).toBeGreaterThan(50);
    expect(faults.filter((fault) => fault !== null)).toEqual([]);
  });

  it('name files of the repository that exist', () => {
    const named = documents.flatMap(({ file, codeSpans }) =>
      codeSpans
        .filter(
          (span) =>
            /^(src|gateway|cli|web|redis|bench|lab|client|test)\/[\w./-]+$/.test(span) &&
            !NEW_FILES.has(span),
        )
        .map((path) => ({ file, path })),
    );
    expect(named.length).toBeGreaterThan(50);
    expect(named.filter(({ path }) => !existsSync(path))).toEqual([]);
  });

  it('are found faulty where they are', () => {
    expect(faultOf('README.md', 'docs/none.md')).toContain('no docs/none.md');
    expect(faultOf('README.md', 'docs/guard.md#none')).toContain('no such heading');
    expect(faultOf('docs/guard.md', '#your-own-policy')).toBeNull();
  });

  it('reach every page of docs/ from the README', () => {
    const reached = new Set(['README.md']);
    for (const file of reached) {
      const links = documents.find((document) => document.file === file)?.links ?? [];
      for (const link of links) reached.add(normalize(join(dirname(file), link.split('#')[0] ?? '')));
    }
    expect(documents.map(({ file }) => file).filter((file) => !reached.has(file))).toEqual([]);
  });
});

describe('a document', () => {
  const source = [
    '# A `b` & c',
    '',
    '- item',
    '',
    '  ```sh',
    '  one',
    '  ```',
    '- item',
    '',
    '  ```sh',
    '  other',
    '  ```',
    '',
    '<!-- not run: needs a GPU -->',
    '```sh',
    'two',
    '```',
    '',
    '# A b  c',
    '| a |',
    '| - |',
    '| [x](y.md) `--z` |',
  ].join('\n');
  const { blocks, links, codeSpans, anchors } = parseDocument('x.md', source);

  it('has blocks, also within lists, by their lines', () => {
    expect(blocks).toEqual([
      { file: 'x.md', line: 5, language: 'sh', text: 'one', notRun: null },
      { file: 'x.md', line: 10, language: 'sh', text: 'other', notRun: null },
      { file: 'x.md', line: 15, language: 'sh', text: 'two', notRun: 'needs a GPU' },
    ]);
  });

  it('has links and words of code, also within tables', () => {
    expect({ links, codeSpans }).toEqual({ links: ['y.md'], codeSpans: ['b', '--z'] });
  });

  it("has GitHub's anchors", () => {
    expect([...anchors]).toEqual(['a-b--c', 'a-b--c-1']);
  });
});
