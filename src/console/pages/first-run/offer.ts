const OFFERED = 'console-first-run';

/** True if this browser has already opened the first steps for this account. */
export function wasFirstRunOffered(accountId: string): boolean {
  return localStorage.getItem(OFFERED) === accountId;
}

/** Records that the first steps were opened, so that the overview opens next time. */
export function noteFirstRunOffered(accountId: string): void {
  localStorage.setItem(OFFERED, accountId);
}
