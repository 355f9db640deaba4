/**
 * Ignores the repeated key events of a held Enter key. They would submit a form several times, or confirm the dialog
 * that the first event opened. In a text area they still add lines.
 */
export function ignoreHeldEnter(): void {
  const ignore = (event: KeyboardEvent) => {
    const isLine = event.target instanceof HTMLTextAreaElement;
    if (event.repeat && event.key === 'Enter' && !isLine) event.preventDefault();
  };
  document.addEventListener('keydown', ignore);
}
