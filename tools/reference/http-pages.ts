import { z } from 'zod';
import { openApi } from '../api/openapi.js';
import { type JsonSchema, jsonSchema } from '../api/schema-document.js';
import { code, page, table } from './reference-markdown.js';
import { defaultOf, fieldsOf, typeOf, withoutDefault } from './schema-pages.js';

const content = z.record(z.string(), z.object({ schema: jsonSchema }));

const operation = z.object({
  summary: z.string(),
  parameters: z
    .array(
      z.object({
        name: z.string(),
        in: z.string(),
        required: z.boolean(),
        description: z.string().optional(),
        schema: jsonSchema,
      }),
    )
    .optional(),
  requestBody: z.object({ content }).optional(),
  responses: z.record(z.string(), z.object({ description: z.string(), content: content.optional() })),
});

type Operation = z.output<typeof operation>;

/** Part of gateway/openapi.json that the reference reads. */
const openApiSchema = z.object({
  paths: z.record(z.string(), z.record(z.string(), operation)),
  webhooks: z.record(z.string(), z.object({ post: operation })),
  components: z.object({ schemas: z.record(z.string(), jsonSchema) }),
});

export const REQUEST_SCHEMAS = '[gateway/requests](../../gateway/requests)';

/** Endpoints, with the fields of their requests and answers. */
export function httpReference(version: string): string {
  const { paths, webhooks, components } = openApiSchema.parse(openApi(version));
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, each]) => describe(`${method.toUpperCase()} ${path}`, each)),
  );
  return page('HTTP', `${REQUEST_SCHEMAS} and [tools/api](../../tools/api)`, [
    'All HTTP endpoints, and the fields of requests and responses. For tools: [gateway/openapi.json](../../gateway/openapi.json). If the gateway has keys, all endpoints except `/healthz`, `/livez`, `/readyz` and the page require one: [access.md](../access.md). Errors: [errors.md](errors.md). Order of the events in a stream: [PROTOCOL.md](../../gateway/PROTOCOL.md#the-same-over-server-sent-events).',
    ...operations,
    ...Object.entries(webhooks).map(([name, { post }]) => describe(`Webhook ${code(name)}`, post)),
    ...Object.entries(components.schemas).map(([name, schema]) => `## ${name}\n\n${fieldTable(schema)}`),
  ]);
}

function describe(name: string, { summary, parameters = [], requestBody, responses }: Operation): string {
  const body = Object.values(requestBody?.content ?? {})
    .map(({ schema }) => typeOf(schema))
    .join(', ');
  const given = parameters.map((parameter) => [
    code(parameter.name),
    parameter.in,
    parameter.required ? '(required)' : '',
    parameter.description ?? '',
  ]);
  const answers = Object.entries(responses).map(([status, { description, content: types = {} }]) => [
    status,
    description,
    Object.entries(types)
      .map(([type, { schema }]) => `${code(type)}: ${typeOf(schema)}`)
      .join('; '),
  ]);
  return [
    `## ${name}`,
    summary,
    ...(body === '' ? [] : [`Body: ${body}`]),
    ...(given.length === 0 ? [] : [table(['parameter', 'in', '', 'meaning'], given)]),
    table(['status', 'meaning', 'body'], answers),
  ].join('\n\n');
}

export const fieldTable = (schema: JsonSchema): string =>
  table(
    ['field', 'type', 'default', 'meaning'],
    fieldsOf(schema).map(({ path, schema: field, required }) => [
      code(path),
      typeOf(field),
      required ? '(required)' : defaultOf(field),
      withoutDefault(field.description),
    ]),
  );
