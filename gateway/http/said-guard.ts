import type { GuardInForce, Prepared, SaidGuard } from '../models/served-model.js';
import type { AskedGuard } from '../requests/guard-limits.js';

/** A generation with what its answer says of the guard. */
export type Answered = Omit<Prepared, 'guard' | 'setByPolicy'> & { readonly guard: SaidGuard };

/** @param asked what the client has set */
export const answered = ({ setByPolicy = {}, ...prepared }: Prepared, asked: AskedGuard): Answered => ({
  ...prepared,
  guard: said(prepared.guard, [asked, setByPolicy]),
});

/** Most fields of the guard in force are defaults that nobody has set. */
function said(guard: GuardInForce, set: readonly AskedGuard[]): SaidGuard {
  const { enabled, methods, method, per, rate, delivery, action, lag, calibrated, warnings, policy } = guard;
  const { scoring: settings, ...fields } = guard;
  const scoring = among(
    settings,
    set.map((each) => each.scoring ?? {}),
  );
  return {
    ...among(fields, set),
    enabled,
    methods,
    method,
    per,
    rate,
    delivery,
    action,
    ...(lag && { lag }),
    ...(calibrated !== undefined && { calibrated }),
    ...(warnings && { warnings }),
    ...(policy !== undefined && { policy }),
    ...(Object.keys(scoring).length > 0 && { scoring }),
  };
}

/** The fields that are in one of the others, too. */
const among = (fields: object, others: readonly object[]): object =>
  Object.fromEntries(
    Object.entries(fields).filter(([name]) => others.some((other) => Object.hasOwn(other, name))),
  );
