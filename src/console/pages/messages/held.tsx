import { formatMoney } from '../../lib/format.ts';
import { useApiMutation, useApiQuery } from '../../lib/queries.ts';
import { Can } from '../../lib/session.tsx';
import { t } from '../../lib/words.ts';
import { ConfirmButton } from '../../ui/confirm-button.tsx';
import { Notice } from '../../ui/notice.tsx';
import { useToast } from '../../ui/toast.tsx';
import { Time } from '../../ui/values.tsx';
import { HeldBlocks, type HeldBlocksQuery, Messages, ReviewHeld } from './messages.generated.ts';

type Block = NonNullable<HeldBlocksQuery['heldBlocks']>[number];

/** Shows the blocks of numbers with messages that are held for review, with buttons to release and to reject them. */
export function HeldMessages() {
  const query = useApiQuery(HeldBlocks, {}, { refetchEveryMs: 60_000 });
  return query.data?.heldBlocks?.map((block) => <HeldNotice key={block.block} of={block} />) ?? null;
}

function HeldNotice({ of: { block, messages, recipients, cost, currency, expiresAt } }: { of: Block }) {
  const toast = useToast();
  const review = useApiMutation(ReviewHeld, { refetches: [HeldBlocks, Messages] });
  // One review decides about 1,000 messages at most.
  const decide = async (decision: 'RELEASE' | 'REJECT') => {
    let count = 0;
    for (let left = 1; left > 0; ) {
      const { reviewHeld } = await review.mutateAsync({ block, decision });
      count += reviewHeld.messages;
      left = reviewHeld.left;
    }
    toast({
      text:
        decision === 'RELEASE'
          ? t('{count, plural, one {# message is} other {# messages are}} released.', { count })
          : t('{count, plural, one {# message is} other {# messages are}} rejected.', { count }),
    });
  };
  return (
    <Notice tone="warn">
      <p>
        {t(
          '{messages, plural, one {# message is} other {# messages are}} held for review: many numbers in a row that begin with {block} were written to. If nobody decides, they fail:',
          { messages, block },
        )}{' '}
        <Time at={expiresAt} />
      </p>
      <Can run="held.review">
        <div className="row">
          <ConfirmButton
            title={t('Release the messages to {block}?', { block })}
            consequence={t(
              '{recipients, plural, one {# recipient gets} other {# recipients get}} them. This costs {cost}.',
              { recipients, cost: formatMoney(cost, currency) },
            )}
            confirmLabel={t('Release')}
            onConfirm={() => decide('RELEASE')}
          >
            {t('Release all')}
          </ConfirmButton>
          <ConfirmButton
            title={t('Reject the messages to {block}?', { block })}
            consequence={t(
              'They fail, and are never charged. If you did not send them, revoke the key that did.',
            )}
            confirmLabel={t('Reject')}
            onConfirm={() => decide('REJECT')}
          >
            {t('Reject all')}
          </ConfirmButton>
        </div>
      </Can>
    </Notice>
  );
}
