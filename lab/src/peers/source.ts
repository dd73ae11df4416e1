import { readText } from 'flinch-client/protocol';
import { z } from 'zod';
import { fetchFrom } from '#src/files/fetch.js';
import { reasonOf, UsageError } from '#src/files/file-errors.js';

/** Of a project's page: projects with very many files have some megabytes. */
const MOST_BYTES = 32 << 20;

/** Fields of a project's page in a package index (PEP 691) that are read. */
const projectSchema = z.object({
  files: z.array(z.object({ filename: z.string(), url: z.string() })),
});

/**
 * Address of a project's sources in a package index: uv installs packages, but does not hand out their archives.
 * @throws UsageError if it does not have the file
 */
export async function findSource(project: string, file: string, signal: AbortSignal): Promise<string> {
  const { UV_DEFAULT_INDEX, UV_INDEX_URL } = process.env;
  const index = (UV_DEFAULT_INDEX || UV_INDEX_URL || 'https://pypi.org/simple').replace(/\/+$/, '');
  const page = `${index}/${project}/`;
  const { files } = await readProject(page, signal).catch((error: unknown) => {
    signal.throwIfAborted();
    throw new UsageError(
      `${page}: ${reasonOf(error)}; check the network, HTTPS_PROXY and UV_DEFAULT_INDEX (an index that answers in JSON)`,
    );
  });
  const found = files.find(({ filename }) => filename === file);
  if (!found)
    throw new UsageError(`${page} does not have ${file} (any more); another index may: set UV_DEFAULT_INDEX`);
  return new URL(found.url, page).href;
}

async function readProject(page: string, signal: AbortSignal): Promise<z.output<typeof projectSchema>> {
  const response = await fetchFrom(page, {
    headers: { accept: 'application/vnd.pypi.simple.v1+json' },
    signal,
  });
  if (!response.ok) {
    await response.body?.cancel();
    throw new Error(`the server answered ${response.status}`);
  }
  return projectSchema.parse(JSON.parse(await readText(response.body, MOST_BYTES)));
}
