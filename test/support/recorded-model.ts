import { identity, pipe, tap } from 'rxjs';
import type { ServedModel } from '#gateway/index.js';
import type { GuardEvent } from '#src/index.js';
import { eventFields } from '#src/stream/wire.js';

type Request = Parameters<ServedModel['source']>[0]['fields'];

/**
 * Writes down what the guard says of each generation, as the protocol has it, before any transport sees it.
 * @param keyOf what tells the requests of a test apart
 */
export function recorder<Key>(keyOf: (request: Request) => Key) {
  const written = new Map<Key, object[]>();
  const wrap = (model: ServedModel): ServedModel => ({
    name: model.name,
    status: () => model.status(),
    source: async (asked) => {
      const source = await model.source(asked);
      return {
        ...source,
        prepare: async (guarding) => {
          const { vocabulary, told = identity, ...prepared } = await source.prepare(guarding);
          const events: object[] = [];
          written.set(keyOf(asked.fields), events);
          const record = tap((event: GuardEvent) => {
            events.push(JSON.parse(JSON.stringify(eventFields(event, vocabulary))));
          });
          return { ...prepared, vocabulary, told: pipe(told, record) };
        },
      };
    },
  });
  return { written, wrap };
}
