import { type ReactNode, useState } from 'react';

/** How long the button says so. */
const SAID_MS = 2000;

/** Copies a text as it is then. */
export function CopyButton({ text }: { readonly text: () => string }): ReactNode {
  const [said, setSaid] = useState('Copy');
  const copy = async () => {
    setSaid((await copied(text())) ? 'Copied' : 'Not copied');
    setTimeout(() => setSaid('Copy'), SAID_MS);
  };
  return (
    <button type="button" className="quiet" aria-live="polite" onClick={() => void copy()}>
      {said}
    </button>
  );
}

async function copied(text: string): Promise<boolean> {
  // Browsers have no clipboard for pages that come over plain HTTP from another machine.
  if (!navigator.clipboard) return copiedBySelection(text);
  return navigator.clipboard.writeText(text).then(
    () => true,
    () => false,
  );
}

function copiedBySelection(text: string): boolean {
  const area = document.createElement('textarea');
  area.className = 'visually-hidden';
  area.value = text;
  document.body.append(area);
  area.select();
  const done = document.execCommand('copy');
  area.remove();
  return done;
}
