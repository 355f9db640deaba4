import { useEffect, useRef } from 'react';
import { Link, useLocation, useSearch } from 'wouter';
import { useApiMutation, useApiQuery } from '../../lib/queries.ts';
import { signedIn } from '../../lib/session.tsx';
import {
  FinishSingleSignOn,
  SignInOffers,
  type SignInOffersQuery,
} from '../../lib/single-sign-on.generated.ts';
import { goToProvider } from '../../lib/single-sign-on.ts';
import { useSteps } from '../../lib/steps.ts';
import { t } from '../../lib/words.ts';
import { Button } from '../../ui/button.tsx';
import { Notice } from '../../ui/notice.tsx';
import { Loading } from '../../ui/states.tsx';
import { PublicPage } from './public-page.tsx';

type Offer = NonNullable<SignInOffersQuery['signInOffers']>[number];

/** Buttons for the identity providers of the email's domain and of the operators. */
export function ProviderButtons({ email }: { email: string }) {
  const { data } = useApiQuery(SignInOffers, { email });
  return (
    <div className="stack" aria-live="polite">
      {data?.signInOffers?.map((offer) => (
        <ProviderButton key={`${offer.isForOperators} ${offer.host}`} offer={offer} email={email} />
      ))}
    </div>
  );
}

function ProviderButton({ offer: { isForOperators, host }, email }: { offer: Offer; email: string }) {
  const next = new URLSearchParams(useSearch()).get('next') ?? '/';
  const go = useSteps(() => goToProvider({ ...(isForOperators ? {} : { email }), next }));
  return (
    <>
      {go.error && <Notice tone="bad">{go.error.message}</Notice>}
      <Button isBusy={go.isPending} onClick={go.run}>
        {isForOperators ? t('Sign in with {host} (operators)', { host }) : t('Sign in with {host}', { host })}
      </Button>
    </>
  );
}

/**
 * The page to which a provider leads back. It finishes the sign-in with the query of its URL. `provider` is the end of
 * the path.
 */
export function SingleSignOnPage({ provider }: { provider: string }) {
  const [, navigate] = useLocation();
  const isBegun = useRef(false);
  const finish = useApiMutation(FinishSingleSignOn, {
    onDone: async ({ finishSingleSignOn: { next } }) => {
      await signedIn();
      navigate(next, { replace: true });
    },
  });
  useEffect(() => {
    if (isBegun.current) return;
    isBegun.current = true;
    const query = location.search.slice(1);
    // The query holds a code, which must not stay in the browser's history.
    history.replaceState(null, '', location.pathname);
    finish.mutate({ provider, query });
  });
  return (
    <PublicPage title={t('Single sign-on')}>
      {finish.error ? (
        <>
          <Notice tone="bad">{finish.error.message}</Notice>
          <p>
            <Link href="/sign-in">{t('Back to the sign-in')}</Link>
          </p>
        </>
      ) : (
        <Loading />
      )}
    </PublicPage>
  );
}
