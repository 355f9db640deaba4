import { type ReactNode, useEffect } from 'react';
import { Redirect, Route, Switch, useLocation, useSearch } from 'wouter';
import { brand } from './lib/brand.ts';
import { SessionProvider, usePermission, useSessionQuery } from './lib/session.tsx';
import {
  AcceptInvitationPage,
  ForgotPasswordPage,
  ResetPasswordPage,
} from './pages/sign-in/set-password.tsx';
import { SignInAgain, SignInPage } from './pages/sign-in/sign-in.tsx';
import { SingleSignOnPage } from './pages/sign-in/single-sign-on.tsx';
import { OUTSIDE, type PageRoute, ROUTES } from './routes.tsx';
import { ConnectionBanner } from './ui/connection-banner.tsx';
import { Layout } from './ui/layout.tsx';
import { ErrorState, Loading, NoPermission, NoSuchPage, PageBoundary } from './ui/states.tsx';
import { StepUp } from './ui/step-up.tsx';

/** The pages that need no session. */
const PUBLIC: Readonly<Record<string, ReactNode>> = {
  '/forgot-password': <ForgotPasswordPage />,
  '/reset-password': <ResetPasswordPage />,
  '/accept-invitation': <AcceptInvitationPage />,
};

/** Path of the page to which identity providers lead back, without the name of the provider. */
const FROM_PROVIDER = '/single-sign-on/';

function publicPage(path: string): ReactNode {
  if (path.startsWith(FROM_PROVIDER)) return <SingleSignOnPage provider={path.slice(FROM_PROVIDER.length)} />;
  return PUBLIC[path];
}

export function App() {
  const [path] = useLocation();
  return (
    <>
      <ConnectionBanner />
      {publicPage(path) ?? <Console path={path} />}
    </>
  );
}

/** The console. Without a session it renders the sign-in page, with a session the page of the current URL path. */
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

/**
 * The path to open after a sign-in. Only a path of this console is accepted: a link must not redirect to another site.
 */
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
    <Layout items={only === undefined ? [...items, ...OUTSIDE] : items}>
      {only !== undefined && path !== only && <Redirect to={only} replace />}
      <Switch>
        {ROUTES.filter((route) => only === undefined || route.path === only).map((route) => (
          <Route key={route.path} path={route.path}>
            <PageBoundary key={route.path} address={address}>
              <PageOf route={route} />
            </PageBoundary>
          </Route>
        ))}
        <Route>
          <NoSuchPage />
        </Route>
      </Switch>
    </Layout>
  );
}

/**
 * Returns the only page that a restricted session may open, or undefined for a full session. A restricted session may
 * only set a password or add a second factor.
 */
function onlyPageOf(permissions: readonly string[]): string | undefined {
  if (permissions.includes('session.list')) return undefined;
  return permissions.includes('secondFactor.startTotp') ? '/security' : '/password';
}

function PageOf({ route: { title, permission, isForOperators, Page } }: { route: PageRoute }) {
  const isAllowed = usePermission(permission);
  useEffect(() => {
    document.title = `${title} · ${brand.name}`;
  }, [title]);
  return isAllowed ? <Page /> : <NoPermission what="open" isForOperators={isForOperators} />;
}
