import { useLocation, useSearchParams } from 'wouter';
import { ButtonLink } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { MessageView } from './message-view.tsx';

const NAME = 'message';

/** Returns a function that makes the URL of this list with the drawer of a message open. */
export function useDrawerHref(): (message: { readonly id: string }) => string {
  const [params] = useSearchParams();
  const [path] = useLocation();
  return ({ id }) => {
    const next = new URLSearchParams(params);
    next.set(NAME, id);
    return `${path}?${next}`;
  };
}

/** The message that the URL names, in a drawer beside the list. The browser's back button closes the drawer. */
export function MessageDrawer() {
  const [params, setParams] = useSearchParams();
  const id = params.get(NAME);
  if (id === null) return null;
  const close = () => {
    const next = new URLSearchParams(params);
    next.delete(NAME);
    setParams(next);
  };
  return (
    <Dialog title="Message" look="drawer" onClose={close}>
      <MessageView
        key={id}
        id={id}
        isDrawer
        actions={<ButtonLink href={`/messages/${id}`}>Open as a page</ButtonLink>}
      />
    </Dialog>
  );
}
