import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { FLAG_OF_FIELD } from '../../cli/serve/serve-config.js';
import { configSchema } from '../../gateway/config/gateway-config.js';
import { CONFIG_VARIABLES } from '../../gateway/config/variables.js';
import { type JsonSchema, jsonSchema } from '../api/schema-document.js';
import { code, page, table } from './reference-markdown.js';
import { defaultOf, type Field, fieldsOf, typeOf, withoutDefault } from './schema-pages.js';

const HEAD = ['field', 'type', 'default', 'meaning'] as const;

/** Every field of the configuration. */
export function configurationReference(): string {
  const schema = jsonSchema.parse(z.toJSONSchema(configSchema, { io: 'input' }));
  const { models, access, guard, webhooks } = schema.properties ?? {};
  const alternatives = alternativesOf(models?.additionalProperties).map((model) => ({
    title: model.description?.replace(/\.$/, ''),
    rows: outsidePolicies(model).map(row),
  }));
  const [first, ...others] = alternatives;
  const has = (rows: readonly unknown[], one: unknown): boolean =>
    rows.some((each) => isDeepStrictEqual(each, one));
  const common = first?.rows.filter((each) => others.every(({ rows }) => has(rows, each))) ?? [];
  const keys = access?.properties?.keys?.items;
  return page('Fields of the configuration', '[gateway/config](../../gateway/config)', [
    'All fields of the configuration file, with their flags and environment variables. [configuration.md](../configuration.md) describes the sources and their order. Flags for a single model: [flinch serve](cli.md#flinch-serve).',
    '## All fields',
    table(['field', 'type', 'default', 'flag, variable', 'meaning'], topFields(schema).map(topRow)),
    '## A model',
    'An entry of `models`, under its name:',
    ...alternatives.flatMap(({ title, rows }) => [
      `### ${title}`,
      table(
        HEAD,
        rows.filter((each) => !has(common, each)),
      ),
    ]),
    '### Fields of either kind of model',
    table(HEAD, common),
    '## A key',
    'An entry of `access.keys`:',
    table(HEAD, keys ? outsidePolicies(keys).map(row) : []),
    '## A webhook',
    'An entry of `webhooks`. [How to receive them](../how-to/webhooks.md).',
    table(HEAD, webhooks?.items ? fieldsOf(webhooks.items).map(row) : []),
    '## A policy',
    '`guard`, for all requests, in an entry of `models` and in an entry of `access.keys`. [How to set a policy](../how-to/set-a-policy.md).',
    table(
      HEAD,
      guard
        ? fieldsOf(guard)
            .filter(({ path }) => !path.startsWith('defaults.'))
            .map(row)
        : [],
    ),
  ]);
}

/** Policies have a section of their own. */
const outsidePolicies = (schema: JsonSchema): Field[] =>
  fieldsOf(schema).filter(({ path }) => !path.startsWith('guard.'));

/** Fields with a variable of their own: fields within a model or a key have none. */
function topFields(schema: JsonSchema): Field[] {
  const paths = new Set([...CONFIG_VARIABLES.values()].map(({ path }) => path.join('.')));
  return fieldsOf(schema).filter(({ path }) => paths.has(path));
}

function topRow({ path, schema }: Field): string[] {
  const variable = [...CONFIG_VARIABLES].find(([, field]) => field.path.join('.') === path)?.[0] ?? '';
  const flag = FLAG_OF_FIELD.get(path);
  const names = [flag, variable].filter((name) => name !== undefined).map(code);
  return [
    code(path),
    typeIn(path, schema),
    defaultOf(schema),
    names.join(', '),
    withoutDefault(schema.description),
  ];
}

/** Parts that only hold fields are no rows. */
const row = ({ path, schema, required }: Field): string[] => [
  code(path),
  typeIn(path, schema),
  required ? '(required)' : defaultOf(schema),
  withoutDefault(schema.description),
];

/** Types that have a section of their own, or too many values for a cell. */
const TYPES: Readonly<Record<string, string>> = {
  models: '[models](#a-model) by name',
  'access.keys': 'list of [keys](#a-key)',
  guard: '[policy](#a-policy)',
  webhooks: 'list of [webhooks](#a-webhook)',
  defaults: 'object of [guard](http.md#chatcompletionrequest) fields',
  locked: 'list of field names, or `"all"`',
};

const typeIn = (path: string, schema: JsonSchema): string => TYPES[path] ?? typeOf(schema);

const alternativesOf = (schema: JsonSchema['additionalProperties']): readonly JsonSchema[] =>
  typeof schema === 'object' ? (schema.anyOf ?? []) : [];
