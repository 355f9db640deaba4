import { useEffect } from 'react';
import { Link, Redirect } from 'wouter';
import { usePermission } from '../../lib/session.tsx';
import { ButtonLink } from '../../ui/button.tsx';
import { Notice } from '../../ui/notice.tsx';
import { EmptyState } from '../../ui/states.tsx';
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
    <EmptyState title="Nothing has been sent yet">
      {mayWalk ? (
        <>
          <p>Four short steps lead to a delivered message and a received webhook.</p>
          <ButtonLink href="/start" look="primary">
            Take the first steps
          </ButtonLink>
        </>
      ) : (
        <p>What the account sends is counted here.</p>
      )}
    </EmptyState>
  );
}

/** Warns that no webhook is registered, so that no program receives the outcomes of messages. */
export function NoWebhook() {
  const mayWalk = usePermission('webhook.register');
  return mayWalk ? (
    <Notice>
      No webhook is registered, so no program hears what became of its messages. The{' '}
      <Link href="/start">first steps</Link> lead to one.
    </Notice>
  ) : null;
}
