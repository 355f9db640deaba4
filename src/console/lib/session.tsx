import { useQuery } from '@tanstack/react-query';
import { createContext, type ReactNode, useContext, useEffect } from 'react';
import { ApiError } from './api-error.ts';
import { whenRestored } from './connection.ts';
import { askAgain, keyOf, queryClient } from './queries.ts';
import { request, whenSignedOut } from './request.ts';
import { RestrictedSession, Session, SignOut } from './session.generated.ts';
import { forgetFrame, rememberedFrame, rememberFrame, type SignedIn } from './session-frame.ts';
import { whenRequestsPass } from './used-up.ts';
import { t } from './words.ts';

/**
 * Null if nobody is signed in. With `hasEnded`, the session expired: the page and its input stay for the same person.
 */
type SessionState = (SignedIn & { readonly hasEnded?: boolean }) | null;
const SESSION_KEY = keyOf(Session, {});

whenSignedOut(() => queryClient.setQueryData<SessionState>(SESSION_KEY, ended));
whenRestored(() => void askAgain());
whenRequestsPass(() => void askAgain());

const ended = (state: SessionState | undefined): SessionState =>
  state ? { ...state, hasEnded: true } : null;

/**
 * The signed-in person, also after their session has expired. Null if nobody is signed in. Until the gateway answers,
 * it is what this browser remembers of the person's frame, so that the page asks for its content at the same time.
 */
export function useSessionQuery() {
  const query = useQuery<SessionState, ApiError>({
    placeholderData: rememberedFrame,
    queryKey: SESSION_KEY,
    queryFn: async ({ signal }) => {
      const before = queryClient.getQueryData<SessionState>(SESSION_KEY);
      try {
        const session = await loadSession(signal);
        // Somebody else signed in in another tab. They must not see this page or its input.
        return before && isAnother(before, session) ? beginAnew(before) : session;
      } catch (error) {
        if (!isUnauthenticated(error)) throw error;
        return ended(before);
      }
    },
  });
  const { data, isPlaceholderData } = query;
  useEffect(() => {
    if (data === null) forgetFrame();
    else if (data && !isPlaceholderData) rememberFrame(data);
  }, [data, isPlaceholderData]);
  return query;
}

/**
 * Loads the session. A restricted session may only set a password or add a second factor. It may not read the account
 * and the hold, so both are null.
 */
async function loadSession(signal?: AbortSignal): Promise<SignedIn> {
  try {
    return await request(Session, {}, { signal });
  } catch (error) {
    if (!(error instanceof ApiError && error.code === 'FORBIDDEN')) throw error;
    const { viewer, permissions } = await request(RestrictedSession, {}, { signal });
    return { viewer: { ...viewer, account: null }, permissions, recovery: { hold: null } };
  }
}

const isAnother = (before: SignedIn, now: SignedIn) => before.viewer.id !== now.viewer.id;

/** Reloads the console, which removes all data of the previous person. The page stays as it is until the reload. */
function beginAnew(before: SessionState): SessionState {
  location.assign('/console/');
  return before;
}

function isUnauthenticated(error: unknown): boolean {
  return error instanceof ApiError && error.code === 'UNAUTHENTICATED';
}

const SessionContext = createContext<SignedIn | undefined>(undefined);

export function SessionProvider({ session, children }: { session: SignedIn; children: ReactNode }) {
  return <SessionContext value={session}>{children}</SessionContext>;
}

/** Returns the signed-in person. Only for pages that need a session. */
export function useViewer(): SignedIn['viewer'] {
  return useSession().viewer;
}

/** True if the signed-in person is an operator, who works on all accounts. */
export function useIsOperator(): boolean {
  const { role } = useViewer();
  return role === 'OPERATOR' || role === 'OPERATOR_READONLY';
}

/**
 * Returns the text that says why the gateway sends nothing (the hold after a recovery), or undefined while it sends.
 */
export function useHold(): string | undefined {
  return useSession().recovery.hold?.text;
}

/** Returns the operations that the signed-in person may run. */
export function usePermissions(): readonly string[] {
  return useSession().permissions;
}

/** True if the signed-in person may run `operation`, such as `apiKey.create`. */
export function usePermission(operation: string): boolean {
  return usePermissions().includes(operation);
}

/** Renders its children if the person may run the operation `run`, else `otherwise`. */
export function Can({
  run,
  children,
  otherwise = null,
}: {
  run: string;
  children: ReactNode;
  otherwise?: ReactNode;
}) {
  return usePermission(run) ? children : otherwise;
}

function useSession(): SignedIn {
  const session = useContext(SessionContext);
  if (!session) throw new Error('nobody is signed in here');
  return session;
}

/** Loads the session after a sign-in. Throws `ApiError` if the browser did not store the session cookie. */
async function newSession(): Promise<SignedIn> {
  try {
    return await loadSession();
  } catch (error) {
    if (!isUnauthenticated(error)) throw error;
    const why =
      location.protocol === 'https:'
        ? t('Let it keep cookies of this address.')
        : t(
            'In production it keeps it over HTTPS only: open the console at the https: address of the gateway.',
          );
    throw new ApiError(
      'NO_COOKIE',
      t('The password is right, but the browser did not keep the session. {why}', { why }),
    );
  }
}

/**
 * Called after a sign-in: loads the new session. If the same person's session had expired, their page and input stay.
 * For another person the console reloads.
 */
export async function signedIn(): Promise<void> {
  const before = queryClient.getQueryData<SessionState>(SESSION_KEY);
  const session = await newSession();
  if (before && isAnother(before, session)) {
    beginAnew(before);
    return;
  }
  if (!before) forgetAnswers();
  queryClient.setQueryData<SessionState>(SESSION_KEY, session);
  if (before) await askAgain();
}

/** Signs out. Throws `ApiError` if the gateway is unreachable, because the session is still valid there. */
export async function signOut(): Promise<void> {
  try {
    await request(SignOut, {});
  } catch (error) {
    if (!isUnauthenticated(error)) throw error;
  }
  queryClient.setQueryData<SessionState>(SESSION_KEY, null);
  forgetAnswers();
}

function forgetAnswers(): void {
  queryClient.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== Session.name });
}
