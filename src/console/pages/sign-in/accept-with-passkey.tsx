import { createPasskey, hasPasskeys } from '../../lib/passkeys.ts';
import { request } from '../../lib/request.ts';
import { AcceptInvitationWithPasskey, StartInvitationPasskey } from '../../lib/session.generated.ts';
import { useSteps } from '../../lib/steps.ts';
import { t } from '../../lib/words.ts';
import { Button } from '../../ui/button.tsx';
import { Notice } from '../../ui/notice.tsx';

/**
 * Accepts an invitation by a passkey instead of a password. Renders nothing if the browser does not support passkeys
 * here.
 */
export function AcceptWithPasskey({
  token,
  onAccepted,
}: {
  token: string;
  onAccepted: (recoveryCodes: readonly string[]) => void;
}) {
  const accept = useSteps(async () => {
    const { startInvitationPasskey } = await request(StartInvitationPasskey, { token });
    const passkey = await createPasskey(startInvitationPasskey);
    const { acceptInvitationWithPasskey } = await request(AcceptInvitationWithPasskey, { token, passkey });
    onAccepted(acceptInvitationWithPasskey.recoveryCodes);
  });
  if (!hasPasskeys()) return null;
  return (
    <>
      {accept.error && <Notice tone="bad">{accept.error.message}</Notice>}
      <Button isBusy={accept.isPending} onClick={accept.run}>
        {t('Use a passkey instead')}
      </Button>
    </>
  );
}
