/**
 * From now on a held Enter acts once: its repeats would submit a form again and again, and answer the dialog that the
 * first of them opened. Where lines are typed they are lines.
 */
export function ignoreHeldEnter(): void {
  const ignore = (event: KeyboardEvent) => {
    const isLine = event.target instanceof HTMLTextAreaElement;
    if (event.repeat && event.key === 'Enter' && !isLine) event.preventDefault();
  };
  document.addEventListener('keydown', ignore);
}
