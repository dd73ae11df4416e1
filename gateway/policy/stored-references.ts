import { ApiError } from '../errors/api-error.js';

/**
 * Names of fields that refer to data that a server has stored: OpenAI's API reference, and servers after it. In
 * lower case and without dashes, as some servers read names.
 */
const REFERENCES: ReadonlySet<string> = new Set([
  ...[
    'previousresponseid',
    'conversation',
    'conversationid',
    'container',
    'containerid',
    'fileid',
    'fileids',
  ],
  ...['vectorstoreid', 'vectorstoreids', 'assistantid', 'threadid', 'sessionid', 'skillid', 'skillids'],
  ...[
    'collectionid',
    'collectionids',
    'libraryid',
    'libraryids',
    'connectorid',
    'approvalrequestid',
    'memoryid',
  ],
  ...['cachedcontent', 'datasources'],
]);

/** Fields that contain the client's own words, or a schema with names of its own. */
const CONTENTS: ReadonlySet<string> = new Set([
  ...[
    'arguments',
    'chat_template_kwargs',
    'guard',
    'json_schema',
    'metadata',
    'parameters',
    'response_format',
  ],
  ...['schema', 'text'],
]);

/** Content fields of an item of an earlier answer; an item that has none of them is looked up by its id. */
const OWN = ['arguments', 'content', 'encrypted_content', 'input', 'output', 'result'];

type Fields = Readonly<Record<string, unknown>>;

/**
 * Checks that a request refers to nothing that a server has stored. A server that is asked with the gateway's own key
 * does not tell its clients apart, so one could read what another has stored.
 * @throws ApiError 400 that names the field
 */
export function checkReferences(request: object): void {
  const path = referenceIn({ ...request }, []);
  if (path === null) return;
  const problem =
    'refers to what the server has stored, which is not passed on: the gateway has several keys, and the server does not tell them apart';
  throw new ApiError('unsupported_parameter', `${path}: ${problem}`, path);
}

function referenceIn(value: Fields, path: readonly string[]): string | null {
  for (const [name, field] of Object.entries(value)) {
    if (isNothing(field)) continue;
    const here = [...path, name];
    if (isReference(name, field, value, path)) return here.join('.').replaceAll(/\.(\d+)(?=\.|$)/g, '[$1]');
    if (typeof field !== 'object' || CONTENTS.has(name)) continue;
    const found = referenceIn({ ...field }, here);
    if (found !== null) return found;
  }
  return null;
}

const isNothing = (value: unknown): value is null | undefined | '' =>
  value === null || value === undefined || value === '' || (Array.isArray(value) && value.length === 0);

function isReference(name: string, field: unknown, of: Fields, path: readonly string[]): boolean {
  const plain = name.toLowerCase().replaceAll(/[_-]/g, '');
  const known = typeof field === 'object' && field !== null && 'id' in field && !isNothing(field.id);
  // A container may be a new one.
  if (plain === 'container' && typeof field === 'object') return known;
  if (REFERENCES.has(plain)) return true;
  const [first, ...rest] = path;
  if (name === 'id') {
    const item = first === 'input' && rest.length === 1;
    return first === 'files' || (item && OWN.every((own) => isNothing(of[own])));
  }
  // A prompt that is stored, and the sound of an earlier answer.
  return known && ((name === 'prompt' && path.length === 0) || (name === 'audio' && of.role === 'assistant'));
}
