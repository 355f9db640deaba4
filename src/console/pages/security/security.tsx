import { Can } from '../../lib/session.tsx';
import { t } from '../../lib/words.ts';
import { PageHeader } from '../../ui/layout.tsx';
import { AccessTokensSection } from './access-tokens.tsx';
import { PolicySection } from './policy.tsx';
import { FactorsSection } from './second-factors.tsx';
import { SessionsSection } from './sessions.tsx';
import { SingleSignOnSection } from './single-sign-on.tsx';

/** The page for second factors, sessions and access tokens. Owners also set the security policy of the account. */
export default function SecurityPage() {
  return (
    <>
      <PageHeader title={t('Security')} />
      <FactorsSection />
      <Can run="session.list">
        <SessionsSection />
      </Can>
      <Can run="accessToken.list">
        <AccessTokensSection />
      </Can>
      <Can run="account.setSecurityPolicy">
        <PolicySection />
      </Can>
      <Can run="singleSignOn.set">
        <SingleSignOnSection />
      </Can>
    </>
  );
}
