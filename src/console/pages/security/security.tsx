import { Can } from '../../lib/session.tsx';
import { PageHeader } from '../../ui/layout.tsx';
import { AccessTokensSection } from './access-tokens.tsx';
import { PolicySection } from './policy.tsx';
import { FactorsSection } from './second-factors.tsx';
import { SessionsSection } from './sessions.tsx';

/** How the person signs in: second factors, sessions and access tokens; for owners, what the account requires. */
export default function SecurityPage() {
  return (
    <>
      <PageHeader title="Security" />
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
    </>
  );
}
