import { Ajv2020 } from 'ajv/dist/2020.js';
import { CLIENT_MESSAGES, SERVER_MESSAGES } from '#tools/api/messages.js';

const ajv = new Ajv2020({ strict: false, allErrors: true });
for (const [type, schema] of [...CLIENT_MESSAGES, ...SERVER_MESSAGES]) ajv.addSchema(schema, type);

/**
 * Checks that a message is one of the protocol's, and has no field that is not there.
 * @throws Error that names the fields
 */
export function checkEvent(event: { readonly type: string; readonly [field: string]: unknown }): void {
  const fits = ajv.getSchema(event.type);
  if (!fits) throw new Error(`the protocol knows no event ${event.type}`);
  if (fits(event)) return;
  const problems = fits.errors?.map(({ instancePath, message, params }) =>
    [instancePath, message, JSON.stringify(params)].join(' '),
  );
  throw new Error(`${problems?.join('\n')}\nin ${JSON.stringify(event).slice(0, 500)}`);
}
