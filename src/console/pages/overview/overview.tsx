import { useViewer } from '../../lib/session.tsx';
import { AccountOverview } from './account-overview.tsx';
import { OperatorOverview } from './operator-overview.tsx';
import './overview.css';

/** The first page of the console: the overview of the account, or for operators the overview of the platform. */
export default function OverviewPage() {
  const { account } = useViewer();
  return account ? <AccountOverview accountId={account.id} /> : <OperatorOverview />;
}
