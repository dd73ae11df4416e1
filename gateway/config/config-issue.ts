import type { z } from 'zod';
import { fieldHint } from '../../src/files/field-hint.js';
import { configSchema } from './gateway-config.js';

/** Fields that name an environment variable with a key. */
export const KEY_FIELDS: ReadonlySet<string> = new Set(['env', 'key_env', 'secret_env']);

/** Fields that people write a key into, with the field beside it that the schema has. */
const OF_KEYS: readonly (readonly [path: RegExp, field: string])[] = [
  [/^access\.keys\.\d+\.(key|api_key|secret|token|value)$/, 'env'],
  [/^models\..*\.upstreams\.\d+\.(key|api_key|secret|token)$/, 'key_env'],
  [/^webhooks\.\d+\.(key|secret|token)$/, 'secret_env'],
];

/** Fields that a schema does not have; they say more than that a field is missing. */
export const unknownIn = (issue: z.core.$ZodIssue): readonly string[] =>
  issue.code === 'unrecognized_keys' ? issue.keys : [];

interface Problem {
  readonly path: readonly PropertyKey[];
  readonly problem: string;
}

/** The field that a problem is about, and what it is, in words for the operator. */
export function describeIssue(issue: z.core.$ZodIssue, before: readonly PropertyKey[] = []): Problem {
  const path = [...before, ...issue.path];
  if (issue.code === 'unrecognized_keys') return unknownField([...path, issue.keys[0] ?? '']);
  if (issue.code === 'invalid_key') return { path, problem: issue.issues[0]?.message ?? issue.message };
  if (issue.code === 'invalid_union') {
    // The alternative that was meant: the one that has the field by which it is told from the others.
    const meant = issue.errors.find((issues) => !issues.some(isMissing));
    if (meant?.[0]) return describeIssue(meant[0], path);
    const mistyped = issue.errors
      .flat()
      .flatMap((each) => unknownIn(each).map((key) => [...path, ...each.path, key]));
    const like = mistyped.find((each) => fieldHint(configSchema, each) !== '');
    return like ? unknownField(like) : { path, problem: 'must have either checkpoint or upstreams' };
  }
  return { path, problem: issue.message.replace(/^Invalid input: /, '') };
}

function unknownField(path: readonly PropertyKey[]): Problem {
  const [, field] = OF_KEYS.find(([key]) => key.test(path.join('.'))) ?? [];
  const hint =
    field === undefined
      ? fieldHint(configSchema, path)
      : `; keys are not in the file: write "${field}: FLINCH_KEY", and set the variable FLINCH_KEY to the key`;
  return { path, problem: `is not a configuration field${hint}` };
}

const isMissing = (issue: z.core.$ZodIssue): boolean =>
  issue.path.length === 1 && issue.message.endsWith('received undefined');
