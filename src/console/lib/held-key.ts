/**
 * Makes a held Enter act once. Its repeats would submit a form again and again, and confirm the dialog that the first
 * one opened. In a text area each repeat stays a new line.
 */
export function ignoreHeldEnter(): void {
  const ignore = (event: KeyboardEvent) => {
    const isLine = event.target instanceof HTMLTextAreaElement;
    if (event.repeat && event.key === 'Enter' && !isLine) event.preventDefault();
  };
  document.addEventListener('keydown', ignore);
}
