import { useQuery } from '@tanstack/react-query';
import { createContext, type ReactNode, useContext } from 'react';
import { ApiError } from './api-error.ts';
import { whenRestored } from './connection.ts';
import type { Complete } from './document.ts';
import { askAgain, keyOf, queryClient } from './queries.ts';
import { request, whenSignedOut } from './request.ts';
import { Session, type SessionQuery, SignOut } from './session.generated.ts';

type SignedIn = Complete<SessionQuery>;
const SESSION_KEY = keyOf(Session, {});

whenSignedOut(() => queryClient.setQueryData(SESSION_KEY, null));
whenRestored(() => void askAgain());

/** Who is signed in; null for nobody. */
export function useSessionQuery() {
  return useQuery<SignedIn | null, ApiError>({
    queryKey: SESSION_KEY,
    queryFn: async ({ signal }) => {
      try {
        return await request(Session, {}, signal);
      } catch (error) {
        if (error instanceof ApiError && error.code === 'UNAUTHENTICATED') return null;
        throw error;
      }
    },
  });
}

const SessionContext = createContext<SignedIn | undefined>(undefined);

export function SessionProvider({ session, children }: { session: SignedIn; children: ReactNode }) {
  return <SessionContext value={session}>{children}</SessionContext>;
}

/** Who is signed in, on any page behind the sign-in. */
export function useViewer(): SignedIn['viewer'] {
  return useSession().viewer;
}

/** Whether the signed-in person may run an operation, such as `apiKey.create`. */
export function usePermission(operation: string): boolean {
  return useSession().permissions.includes(operation);
}

/** Shows its children to whoever may run the operation, and `otherwise` to everybody else. */
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

/** Forgets what another person's session showed, and asks who is signed in now. */
export async function signedIn(): Promise<void> {
  queryClient.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== Session.name });
  await queryClient.refetchQueries({ queryKey: SESSION_KEY });
}

/** Ends the session here and at the gateway. */
export async function signOut(): Promise<void> {
  await request(SignOut, {});
  queryClient.setQueryData(SESSION_KEY, null);
  queryClient.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== Session.name });
}
