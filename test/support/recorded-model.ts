import { tap } from 'rxjs';
import type { ServedModel } from '#gateway/index.js';
import type { GuardEvent } from '#src/index.js';
import { eventFields } from '#src/stream/wire.js';

type Request = Parameters<ServedModel['prepare']>[0];

/**
 * Writes down what the guard says of each generation, as the protocol has it, before any transport sees it.
 * @param keyOf what tells the requests of a test apart
 */
export function recorder<Key>(keyOf: (request: Request) => Key) {
  const written = new Map<Key, object[]>();
  const wrap = (model: ServedModel): ServedModel => ({
    name: model.name,
    status: () => model.status(),
    prepare: async (request, options) => {
      const prepared = await model.prepare(request, options);
      const events: object[] = [];
      written.set(keyOf(request), events);
      const record = tap((event: GuardEvent) => {
        events.push(JSON.parse(JSON.stringify(eventFields(event, prepared.vocabulary))));
      });
      return { ...prepared, start: (gate) => prepared.start(gate).pipe(record) };
    },
  });
  return { written, wrap };
}
