/** In place of what is not shown. */
export const HIDDEN = '[hidden]';

/**
 * An address as it may be shown: without user, password, query and fragment, which may be secrets.
 * @param path whether its path is shown, too: that of a receiver of messages may be a secret
 */
export function shownAddress(address: string, { path: showsPath = true } = {}): string {
  const [, scheme = '', user, host = '', path = '', query] =
    /^([a-z][a-z0-9+.-]*:\/\/)([^/?#]*@)?([^/?#@]+)([^?#]*)(.*)$/is.exec(address) ?? [];
  if (host === '' || !URL.canParse(address)) return HIDDEN;
  const end = !showsPath && /[^/]/.test(path) ? `/${HIDDEN}` : path;
  return `${scheme}${user ? `${HIDDEN}@` : ''}${host}${end}${query ? `?${HIDDEN}` : ''}`;
}
