import type { ReactNode } from 'react';
import { useLocation, useSearchParams } from 'wouter';
import type { DrawerName } from '../lib/environment.ts';
import { Dialog } from './dialog.tsx';

/** Returns a function that makes the URL of this list with the drawer of a row open. `name` is the query parameter. */
export function useDrawerHref(name: DrawerName): (row: { readonly id: string }) => string {
  const [params] = useSearchParams();
  const [path] = useLocation();
  return ({ id }) => {
    const next = new URLSearchParams(params);
    next.set(name, id);
    return `${path}?${next}`;
  };
}

/**
 * Shows the object that the query parameter `name` of the URL names, in a drawer beside the list. The browser's back
 * button closes the drawer.
 */
export function Drawer({
  name,
  title,
  children,
}: {
  name: DrawerName;
  title: string;
  children: (id: string) => ReactNode;
}) {
  const [params, setParams] = useSearchParams();
  const id = params.get(name);
  if (id === null) return null;
  const close = () => {
    const next = new URLSearchParams(params);
    next.delete(name);
    setParams(next);
  };
  return (
    <Dialog title={title} look="drawer" onClose={close}>
      {children(id)}
    </Dialog>
  );
}
