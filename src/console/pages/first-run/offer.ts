const OFFERED = 'console-first-run';

/** Whether the first steps were already offered to this account's people in this browser. */
export function wasFirstRunOffered(accountId: string): boolean {
  return localStorage.getItem(OFFERED) === accountId;
}

/** Notes that the first steps were offered, so that they are not put in the way again. */
export function noteFirstRunOffered(accountId: string): void {
  localStorage.setItem(OFFERED, accountId);
}
