/**
 * The content of the last `\boxed{…}` of a text, or else of the last `\fbox{…}`; also of `\boxed X`, which goes up to
 * the next `$`. One that is never closed, or is empty, does not count.
 */
export function lastBoxed(text: string): string | null {
  return lastOf(text, '\\boxed') ?? lastOf(text, '\\fbox');
}

function lastOf(text: string, command: string): string | null {
  for (let at = text.lastIndexOf(command); at >= 0; at = at > 0 ? text.lastIndexOf(command, at - 1) : -1) {
    const after = text.slice(at + command.length);
    if (/^[a-z]/i.test(after)) continue; // another command, as \boxedtext
    const content = (after.trimStart().startsWith('{') ? braced(after) : upToDollar(after))?.trim();
    if (content) return content;
  }
  return null;
}

/** What the first pair of braces holds; escaped braces do not count. */
export function braced(text: string): string | null {
  const start = text.indexOf('{');
  if (start < 0) return null;
  let depth = 0;
  for (let i = start; i < text.length; i += 1) {
    if (text[i] === '\\') i += 1;
    else if (text[i] === '{') depth += 1;
    else if (text[i] === '}') {
      depth -= 1;
      if (depth === 0) return text.slice(start + 1, i);
    }
  }
  return null;
}

function upToDollar(text: string): string | null {
  const end = text.indexOf('$');
  return end < 0 ? null : text.slice(0, end);
}
