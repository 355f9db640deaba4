import { Suspense, useEffect } from 'react';
import { Redirect, Route, Switch, useLocation, useSearch } from 'wouter';
import { SessionProvider, usePermission, useSessionQuery } from './lib/session.tsx';
import { SignInAgain, SignInPage } from './pages/sign-in/sign-in.tsx';
import { type PageRoute, ROUTES } from './routes.tsx';
import { ConnectionBanner } from './ui/connection-banner.tsx';
import { Layout } from './ui/layout.tsx';
import { EmptyState, ErrorState, Loading, NoPermission, PageBoundary } from './ui/states.tsx';

/** The console: shows the sign-in to people without a session, else the page of the address. */
export function App() {
  const session = useSessionQuery();
  const [path] = useLocation();
  const search = useSearch();
  const isSignIn = path === '/sign-in';
  const back = encodeURIComponent(search ? `${path}?${search}` : path);
  return (
    <>
      <ConnectionBanner />
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
  const items = ROUTES.flatMap(({ path, title, group, permission }) =>
    group && permissions.includes(permission) ? [{ path, title, group }] : [],
  );
  return (
    <Layout items={items}>
      <Suspense fallback={<Loading />}>
        <Switch>
          {ROUTES.map((route) => (
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

function PageOf({ route: { title, permission, isForOperators, Page } }: { route: PageRoute }) {
  const isAllowed = usePermission(permission);
  useEffect(() => {
    document.title = `${title} · Messaging gateway`;
  }, [title]);
  return isAllowed ? <Page /> : <NoPermission what="open this page" isForOperators={isForOperators} />;
}
