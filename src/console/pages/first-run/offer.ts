const OFFERED = 'console-first-run';

/** True if the first steps were already offered for this account in this browser. */
export function wasFirstRunOffered(accountId: string): boolean {
  return localStorage.getItem(OFFERED) === accountId;
}

/** Records that the first steps were offered, so that the overview opens next time. */
export function noteFirstRunOffered(accountId: string): void {
  localStorage.setItem(OFFERED, accountId);
}
