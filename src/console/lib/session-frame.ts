import type { SessionQuery } from './session.generated.ts';

type Viewer = NonNullable<SessionQuery['viewer']>;
type Account = NonNullable<Viewer['account']>;

/** The signed-in person. Name, email and balance are unknown until the gateway has answered. */
export interface SignedIn {
  readonly viewer: Omit<Viewer, 'account'> & {
    readonly account: (Omit<Account, 'balance'> & { readonly balance: number | null }) | null;
  };
  readonly permissions: readonly string[];
  readonly recovery: NonNullable<SessionQuery['recovery']>;
}

const NAME = 'console-frame';

/**
 * Keeps in this browser what a page needs at the next visit to begin before the gateway has answered: ids, role,
 * permissions and currency. It keeps no name, email address or balance, because others may use this browser. It gives
 * no rights, because the gateway checks each request.
 */
export function rememberFrame({ viewer, permissions, recovery }: SignedIn): void {
  const account = viewer.account && { ...viewer.account, name: '', balance: null };
  const frame: SignedIn = { viewer: { ...viewer, email: '', account }, permissions, recovery };
  try {
    localStorage.setItem(NAME, JSON.stringify(frame));
  } catch {
    // The browser keeps nothing of this site: the next visit begins without the frame.
  }
}

export function forgetFrame(): void {
  localStorage.removeItem(NAME);
}

/** Returns the remembered frame. Undefined if there is none, or if another version of the console kept it. */
export function rememberedFrame(): SignedIn | undefined {
  try {
    const frame: unknown = JSON.parse(localStorage.getItem(NAME) ?? 'null');
    return isFrame(frame) ? frame : undefined;
  } catch {
    return undefined;
  }
}

function isFrame(frame: unknown): frame is SignedIn {
  const { viewer, permissions, recovery } = Object(frame) as Partial<Record<keyof SignedIn, unknown>>;
  const { id, role, account } = Object(viewer) as Partial<Record<keyof Viewer, unknown>>;
  return (
    [id, role].every((each) => typeof each === 'string') &&
    (account === null || typeof Object(account).currency === 'string') &&
    Array.isArray(permissions) &&
    Object(recovery).hold !== undefined
  );
}
