import type { GuardInForce, Prepared, SaidGuard } from '../models/served-model.js';
import type { AskedGuard } from '../requests/guard-limits.js';

/** A generation with what its answer says of the guard. */
export type Answered = Omit<Prepared, 'guard'> & { readonly guard: SaidGuard };

/** @param set what the client and the operator's policies have set */
export const answered = (prepared: Prepared, ...set: readonly AskedGuard[]): Answered => ({
  ...prepared,
  guard: said(prepared.guard, set),
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
    ...{ enabled, methods, method, per, rate, delivery, action },
    ...(lag && { lag, ...(lag === 'skip' && { lag_tokens: guard.lag_tokens }) }),
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
