import { formatNumber } from '../../lib/format.ts';
import { useApiQuery } from '../../lib/queries.ts';
import { Can } from '../../lib/session.tsx';
import { t } from '../../lib/words.ts';
import { Id } from '../../ui/code.tsx';
import { PageHeader } from '../../ui/layout.tsx';
import { Loaded } from '../../ui/states.tsx';
import { KeyValues, Money, Time } from '../../ui/values.tsx';
import { daysText, RetentionForm } from './retention-form.tsx';
import { AccountSettings, type AccountSettingsQuery } from './settings.generated.ts';

type Account = NonNullable<AccountSettingsQuery['account']>;

/** The page of the account: its name, the limits of its plan, and its retention. */
export default function SettingsPage() {
  const query = useApiQuery(AccountSettings, {});
  return (
    <>
      <PageHeader title={t('Account')} />
      <Loaded query={query}>
        {({ account }) => (
          <div className="columns">
            <section className="card stack" aria-labelledby="facts">
              <h2 id="facts">{t('The account')}</h2>
              <KeyValues items={factsOf(account)} />
              <p className="quiet">
                {t("Plan and top-ups are the platform operator's to change. Name and currency stay.")}
              </p>
            </section>
            <Can
              run="account.setRetention"
              otherwise={
                <section className="card stack" aria-labelledby="retention">
                  <h2 id="retention">{t('How long messages are kept')}</h2>
                  <KeyValues
                    items={[
                      [t('Texts'), daysText(account.retention.contentDays)],
                      [t('Messages'), daysText(account.retention.messageDays)],
                    ]}
                  />
                  <p className="quiet">{t('Only an owner can change it.')}</p>
                </section>
              }
            >
              <RetentionForm of={account.retention} />
            </Can>
          </div>
        )}
      </Loaded>
    </>
  );
}

function factsOf(account: Account): Parameters<typeof KeyValues>[0]['items'] {
  const { id, name, email, currency, balance, plan, createdAt } = account;
  return [
    [t('Name'), name],
    [t('Email'), email],
    [t('Currency'), currency],
    [t('Balance'), <Money key="balance" amount={balance} currency={currency} />],
    [t('Plan'), plan?.name ?? t('No plan (default limits)')],
    ...(plan
      ? ([
          [t('Requests per minute'), formatNumber(plan.perMinute)],
          [t('Requests per second'), plan.perSecond === 0 ? t('no limit') : formatNumber(plan.perSecond)],
          [t('Webhook registrations per minute'), formatNumber(plan.webhooksPerMinute)],
          [
            t('Requests of a session per minute'),
            plan.sessionPerMinute === null ? t("the platform's limit") : formatNumber(plan.sessionPerMinute),
          ],
        ] as const)
      : []),
    [t('Created'), <Time key="created" at={createdAt} />],
    [t('Account id'), <Id key="id" of={id} label={t('Account id')} />],
  ];
}
