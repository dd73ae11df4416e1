/**
 * The content of the last `\boxed{…}` of a text, or else of the last `\fbox{…}`; also of `\boxed X`, which goes up to
 * the next `$`. One that is never closed, or is empty, does not count.
 */
export function lastBoxed(text: string): string | null {
  return lastOf(text, '\\boxed') ?? lastOf(text, '\\fbox');
}

function lastOf(text: string, command: string): string | null {
  const closing = closingBraces(text);
  const lastDollar = text.lastIndexOf('$');
  for (let at = text.lastIndexOf(command); at >= 0; at = at > 0 ? text.lastIndexOf(command, at - 1) : -1) {
    const after = at + command.length;
    const rest = text.slice(after);
    if (/^[a-z]/i.test(rest)) continue; // another command, as \boxedtext
    const start = after + rest.search(/\S|$/);
    const opened = text[start] === '{';
    const end = opened ? closing.get(start) : after <= lastDollar ? text.indexOf('$', after) : undefined;
    if (end === undefined) continue;
    const content = text.slice(opened ? start + 1 : start, end).trim();
    if (content !== '') return content;
  }
  return null;
}

/**
 * Position of the closing brace for each opening brace that is closed; escaped braces do not count. Linear in
 * the length of the text.
 */
function closingBraces(text: string): Map<number, number> {
  const closing = new Map<number, number>();
  const open: number[] = [];
  for (let i = 0; i < text.length; i += 1) {
    if (text[i] === '\\') i += 1;
    else if (text[i] === '{') open.push(i);
    else if (text[i] === '}') {
      const start = open.pop();
      if (start !== undefined) closing.set(start, i);
    }
  }
  return closing;
}
