import type { Answer, GuardInForce } from '../answers/served-model.js';
import type { AskedGuard } from '../requests/guard-limits.js';

/** What an answer says of the guard: how it judges and acts, and what the client or a policy has set. */
export type SaidGuard = Pick<
  GuardInForce,
  'enabled' | 'methods' | 'method' | 'per' | 'rate' | 'delivery' | 'action'
> &
  Partial<Omit<GuardInForce, 'scoring'>> & { readonly scoring?: Partial<GuardInForce['scoring']> };

/** An answer with what it says of the guard. */
export type Answered = Omit<Answer, 'guard' | 'set' | 'start'> & { readonly guard: SaidGuard };

export const answered = ({ guard, set, start: _, ...answer }: Answer): Answered => ({
  ...answer,
  guard: said(guard, set),
});

/** Most fields of the guard in force are defaults that nobody has set. */
function said(guard: GuardInForce, set: AskedGuard): SaidGuard {
  const {
    enabled,
    methods,
    method,
    per,
    rate,
    delivery,
    action,
    lag,
    calibrated,
    estimate,
    warnings,
    policy,
  } = guard;
  const { scoring: settings, ...fields } = guard;
  const scoring = among(settings, set.scoring ?? {});
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
    ...(estimate && { estimate }),
    ...(warnings && { warnings }),
    ...(policy !== undefined && { policy }),
    ...(Object.keys(scoring).length > 0 && { scoring }),
  };
}

/** The fields that are in the other, too. */
const among = (fields: object, other: object): object =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => Object.hasOwn(other, name)));
