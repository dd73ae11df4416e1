/** A field of the form whose value the browser remembers. */
export function remembered(field: HTMLSelectElement | HTMLTextAreaElement, key: string): void {
  const stored = localStorage.getItem(key);
  if (stored !== null) field.value = stored;
  field.addEventListener('change', () => localStorage.setItem(key, field.value));
}
