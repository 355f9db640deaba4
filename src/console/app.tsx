import { type ReactNode, Suspense, useEffect } from 'react';
import { Redirect, Route, Switch, useLocation, useSearch } from 'wouter';
import { SessionProvider, usePermission, useSessionQuery } from './lib/session.tsx';
import {
  AcceptInvitationPage,
  ForgotPasswordPage,
  ResetPasswordPage,
} from './pages/sign-in/set-password.tsx';
import { SignInAgain, SignInPage } from './pages/sign-in/sign-in.tsx';
import { type PageRoute, ROUTES } from './routes.tsx';
import { ConnectionBanner } from './ui/connection-banner.tsx';
import { Layout } from './ui/layout.tsx';
import { EmptyState, ErrorState, Loading, NoPermission, PageBoundary } from './ui/states.tsx';
import { StepUp } from './ui/step-up.tsx';

/** Pages for people without a session. */
const PUBLIC: Readonly<Record<string, ReactNode>> = {
  '/forgot-password': <ForgotPasswordPage />,
  '/reset-password': <ResetPasswordPage />,
  '/accept-invitation': <AcceptInvitationPage />,
};

export function App() {
  const [path] = useLocation();
  return (
    <>
      <ConnectionBanner />
      {PUBLIC[path] ?? <Console path={path} />}
    </>
  );
}

/** The console: shows the sign-in to people without a session, else the page of the address. */
function Console({ path }: { path: string }) {
  const session = useSessionQuery();
  const search = useSearch();
  const isSignIn = path === '/sign-in';
  const back = encodeURIComponent(search ? `${path}?${search}` : path);
  return (
    <>
      {session.data === undefined ? (
        <main>
          {session.error ? <ErrorState error={session.error} onRetry={session.refetch} /> : <Loading />}
        </main>
      ) : session.data === null ? (
        isSignIn ? (
          <SignInPage />
        ) : (
          <Redirect to={path === '/' && !search ? '/sign-in' : `/sign-in?next=${back}`} replace />
        )
      ) : (
        <SessionProvider session={session.data}>
          {isSignIn ? (
            <Redirect to={nextOf(search)} replace />
          ) : (
            <Pages permissions={session.data.permissions} />
          )}
          <StepUp />
          {session.data.hasEnded && <SignInAgain email={session.data.viewer.email} />}
        </SessionProvider>
      )}
    </>
  );
}

/** Where a sign-in leads: only to a page of this console. */
function nextOf(search: string): string {
  const next = new URLSearchParams(search).get('next') ?? '/';
  return /^\/(?![/\\])/.test(next) ? next : '/';
}

function Pages({ permissions }: { permissions: readonly string[] }) {
  const [path] = useLocation();
  const address = `${path}?${useSearch()}`;
  const only = onlyPageOf(permissions);
  const items = ROUTES.flatMap(({ path, title, group, permission }) =>
    group && permissions.includes(permission) ? [{ path, title, group }] : [],
  );
  return (
    <Layout items={items}>
      {only !== undefined && path !== only && <Redirect to={only} replace />}
      <Suspense fallback={<Loading />}>
        <Switch>
          {ROUTES.filter((route) => only === undefined || route.path === only).map((route) => (
            <Route key={route.path} path={route.path}>
              <PageBoundary key={route.path} address={address}>
                <PageOf route={route} />
              </PageBoundary>
            </Route>
          ))}
          <Route>
            <EmptyState title="There is no such page" />
          </Route>
        </Switch>
      </Suspense>
    </Layout>
  );
}

/** The page of a session that may only set a password or add a second factor; undefined for any other. */
function onlyPageOf(permissions: readonly string[]): string | undefined {
  if (permissions.includes('session.list')) return undefined;
  return permissions.includes('secondFactor.startTotp') ? '/security' : '/password';
}

function PageOf({ route: { title, permission, isForOperators, Page } }: { route: PageRoute }) {
  const isAllowed = usePermission(permission);
  useEffect(() => {
    document.title = `${title} · Messaging gateway`;
  }, [title]);
  return isAllowed ? <Page /> : <NoPermission what="open this page" isForOperators={isForOperators} />;
}
