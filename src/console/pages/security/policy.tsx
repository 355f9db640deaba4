import { useApiMutation, useApiQuery } from '../../lib/queries.ts';
import { Session } from '../../lib/session.generated.ts';
import { t } from '../../lib/words.ts';
import { ConfirmButton } from '../../ui/confirm-button.tsx';
import { Loaded } from '../../ui/states.tsx';
import { useToast } from '../../ui/toast.tsx';
import { SecurityPolicy, SetSecurityPolicy } from './security.generated.ts';

/** For owners: sets whether the account's members must have a second factor. */
export function PolicySection() {
  const query = useApiQuery(SecurityPolicy, {});
  const toast = useToast();
  const set = useApiMutation(SetSecurityPolicy, {
    refetches: [SecurityPolicy, Session],
    onDone: () => toast({ text: t('Saved. It applies from the next request on.') }),
  });
  return (
    <section className="card stack" aria-labelledby="policy">
      <h2 id="policy">{t('Policy of the account')}</h2>
      <Loaded query={query}>
        {({ account: { requireSecondFactor } }) => (
          <>
            <p>
              {requireSecondFactor
                ? t('Every member must have a second factor.')
                : t('Members choose whether to have a second factor.')}
            </p>
            <div className="row">
              <ConfirmButton
                title={requireSecondFactor ? t('No longer require it?') : t('Require a second factor?')}
                consequence={
                  requireSecondFactor
                    ? t('Members can remove theirs then.')
                    : t('Members without one, you included, can do nothing until they add one.')
                }
                confirmLabel={requireSecondFactor ? t('No longer require it') : t('Require it')}
                onConfirm={() => set.mutateAsync({ requireSecondFactor: !requireSecondFactor })}
              >
                {requireSecondFactor ? t('No longer require it') : t('Require a second factor')}
              </ConfirmButton>
            </div>
          </>
        )}
      </Loaded>
    </section>
  );
}
