import { flinchProgram } from '../../cli/program.js';
import { metricsReference } from '../../gateway/metrics/reference.js';
import { cliReference } from './cli.js';
import { configurationReference } from './configuration.js';
import { errorsReference } from './error-pages.js';
import { eventsReference } from './event-pages.js';
import { httpReference } from './http-pages.js';

/** The files of docs/reference, by name. */
export async function referencePages(version: string): Promise<Readonly<Record<string, string>>> {
  return {
    'cli.md': cliReference(await flinchProgram(version)),
    'configuration.md': configurationReference(),
    'http.md': httpReference(version),
    'events.md': eventsReference(),
    'errors.md': errorsReference(),
    'metrics.md': metricsReference(),
  };
}
