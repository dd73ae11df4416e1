import { gatewayBenchProgram } from '../../gateway/bench/program.js';
import { metricsReference } from '../../gateway/metrics/reference.js';
import { benchProgram } from '../bench/program.js';
import { flinchProgram } from '../cli/program.js';
import { cliReference } from './cli.js';
import { configurationReference } from './configuration.js';
import { errorsReference } from './errors.js';
import { eventsReference } from './events.js';
import { httpReference } from './http.js';

/** The files of docs/reference, by name. */
export function referencePages(version: string): Readonly<Record<string, string>> {
  return {
    'cli.md': cliReference([flinchProgram(version), benchProgram(), gatewayBenchProgram()]),
    'configuration.md': configurationReference(),
    'http.md': httpReference(version),
    'events.md': eventsReference(version),
    'errors.md': errorsReference(),
    'metrics.md': metricsReference(),
  };
}
