import { useEffect } from 'react';
import { Link, Redirect } from 'wouter';
import { usePermission } from '../../lib/session.tsx';
import { t } from '../../lib/words.ts';
import { ButtonLink } from '../../ui/button.tsx';
import { Notice } from '../../ui/notice.tsx';
import { EmptyState } from '../../ui/states.tsx';
import { T } from '../../ui/t.tsx';
import { noteFirstRunOffered } from '../first-run/offer.ts';

/** Redirects to the first steps. It happens once for an account in a browser. */
export function LeadToFirstSteps({ accountId }: { accountId: string }) {
  useEffect(() => noteFirstRunOffered(accountId), [accountId]);
  return <Redirect to="/start" replace />;
}

/** Shown instead of figures for an account that has not sent a message. */
export function NothingSent() {
  const mayWalk = usePermission('webhook.register');
  return (
    <EmptyState title={t('Nothing has been sent yet')}>
      {mayWalk ? (
        <>
          <p>{t('Four short steps lead to a delivered message and a received webhook.')}</p>
          <ButtonLink href="/start" look="primary">
            {t('Take the first steps')}
          </ButtonLink>
        </>
      ) : (
        <p>{t('What the account sends is counted here.')}</p>
      )}
    </EmptyState>
  );
}

/** Warns that no webhook is registered, so that no program receives the outcomes of messages. */
export function NoWebhook() {
  const mayWalk = usePermission('webhook.register');
  return mayWalk ? (
    <Notice>
      <T
        text="No webhook is registered, so no program hears what became of its messages. The <link>first steps</link> lead to one."
        link={<Link href="/start" />}
      />
    </Notice>
  ) : null;
}
