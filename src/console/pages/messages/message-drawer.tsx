import { t } from '../../lib/words.ts';
import { ButtonLink } from '../../ui/button.tsx';
import { Drawer } from '../../ui/drawer.tsx';
import { MessageView } from './message-view.tsx';

/** The query parameter that names the message in the drawer. */
export const OPENED = 'message';

/** The message that the URL names, in a drawer beside the list. */
export function MessageDrawer() {
  return (
    <Drawer name={OPENED} title={t('Message')}>
      {(id) => (
        <MessageView
          key={id}
          id={id}
          isDrawer
          actions={<ButtonLink href={`/messages/${id}`}>{t('Open as a page')}</ButtonLink>}
        />
      )}
    </Drawer>
  );
}
