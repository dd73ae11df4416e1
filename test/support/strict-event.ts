import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';

const ajv = new Ajv2020({ strict: false, allErrors: true });
ajv.addSchema(JSON.parse(readFileSync('gateway/asyncapi.json', 'utf8')), 'asyncapi');

/**
 * Checks that an event is one of asyncapi.json's, and has no field that is not there.
 * @throws Error that names the fields
 */
export function checkEvent(event: { readonly type: string; readonly [field: string]: unknown }): void {
  const fits = ajv.getSchema(`asyncapi#/components/messages/${event.type}/payload`);
  if (!fits) throw new Error(`the protocol knows no event ${event.type}`);
  if (fits(event)) return;
  const problems = fits.errors?.map(({ instancePath, message, params }) =>
    [instancePath, message, JSON.stringify(params)].join(' '),
  );
  throw new Error(`${problems?.join('\n')}\nin ${JSON.stringify(event).slice(0, 500)}`);
}
