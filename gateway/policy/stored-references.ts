import { ApiError } from '../errors/api-error.js';

/** By which a request has a server read what was stored before: OpenAI's API reference, and servers after it. */
const REFERENCES: ReadonlySet<string> = new Set([
  ...['previous_response_id', 'conversation', 'conversation_id', 'container', 'container_id'],
  ...['file_id', 'file_ids', 'vector_store_id', 'vector_store_ids', 'assistant_id', 'thread_id'],
]);

/** Whose fields are the client's own words, or a schema with names of its own. */
const CONTENTS: ReadonlySet<string> = new Set([
  ...['arguments', 'chat_template_kwargs', 'documents', 'guard', 'json_schema', 'metadata'],
  ...['parameters', 'response_format', 'schema', 'text'],
]);

/**
 * Checks that a request refers to nothing that a server has stored. A server that is asked with the gateway's own key
 * does not tell its clients apart, so one could read what another has stored.
 * @throws ApiError 400 that names the field
 */
export function checkReferences(request: object): void {
  const path = referenceIn(request, []);
  if (path === null) return;
  const problem =
    'refers to what the server has stored, which is not passed on: the gateway has several keys, and the server does not tell them apart';
  throw new ApiError(400, 'unsupported_parameter', `${path}: ${problem}`, path);
}

function referenceIn(value: object, path: readonly string[]): string | null {
  for (const [name, field] of Object.entries(value)) {
    if (field === null || field === undefined || field === '') continue;
    const here = [...path, name];
    if (isReference(name, field, value)) return here.join('.').replaceAll(/\.(\d+)(?=\.|$)/g, '[$1]');
    if (typeof field !== 'object' || CONTENTS.has(name)) continue;
    const found = referenceIn(field, here);
    if (found !== null) return found;
  }
  return null;
}

function isReference(
  name: string,
  field: unknown,
  { type, role }: { readonly type?: unknown; readonly role?: unknown },
): boolean {
  // A new one, which may have files.
  if (name === 'container' && typeof field === 'object') return false;
  if (REFERENCES.has(name)) return !Array.isArray(field) || field.length > 0;
  if (name === 'id') return type === 'item_reference';
  // A prompt that is stored, and the sound of an earlier answer.
  if (typeof field !== 'object' || field === null || !('id' in field)) return false;
  return (name === 'prompt' && type === undefined) || (name === 'audio' && role === 'assistant');
}
