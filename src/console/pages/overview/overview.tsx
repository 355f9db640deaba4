import { useViewer } from '../../lib/session.tsx';
import { AccountOverview } from './account-overview.tsx';
import { OperatorOverview } from './operator-overview.tsx';
import './overview.css';

/** The first page: the account's figures, or for operators the platform's. */
export default function OverviewPage() {
  const { account } = useViewer();
  return account ? <AccountOverview accountId={account.id} /> : <OperatorOverview />;
}
