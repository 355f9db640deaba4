import { type ReactNode, useEffect, useRef, useState } from 'react';
import { Link, useLocation } from 'wouter';
import { useInEnvironment } from '../lib/environment.ts';
import { formatName } from '../lib/format.ts';
import { signOut, useHold, useViewer } from '../lib/session.tsx';
import { useTheme } from '../lib/theme.ts';
import { Button, ButtonLink } from './button.tsx';
import { EnvironmentSwitch } from './environment-switch.tsx';
import { Notice } from './notice.tsx';
import { useToast } from './toast.tsx';
import { Money } from './values.tsx';
import './layout.css';

interface NavItem {
  readonly path: string;
  readonly title: string;
  readonly group: string;
}

/** The frame of every page: the header with the signed-in person, the navigation menu, and the page itself. */
export function Layout({ items, children }: { items: readonly NavItem[]; children: ReactNode }) {
  const [path] = useLocation();
  const [isOpen, setIsOpen] = useState(false);
  const main = useRef<HTMLElement>(null);
  const shownPath = useRef(path);
  const { mustChangePassword } = useViewer();
  const hold = useHold();
  useEffect(() => {
    if (shownPath.current === path) return;
    shownPath.current = path;
    setIsOpen(false);
    scrollTo(0, 0);
    // Moves the focus to the new page, so that screen readers start at its beginning.
    main.current?.focus();
  }, [path]);
  return (
    <>
      <a className="skip-link" href="#main">
        Skip to the content
      </a>
      <header className="header">
        <div className="row">
          <Button
            className="menu-button"
            aria-expanded={isOpen}
            aria-controls="navigation"
            onClick={() => setIsOpen(!isOpen)}
          >
            Menu
          </Button>
          <Link href="/" className="brand">
            Messaging gateway
          </Link>
        </div>
        <WhoIsHere />
      </header>
      <div className="shell">
        <nav id="navigation" className="nav" aria-label="Pages" data-open={isOpen}>
          <Navigation items={items} path={path} />
        </nav>
        <main id="main" className="main stack" ref={main} tabIndex={-1}>
          {hold !== undefined && <Notice tone="warn">{hold}</Notice>}
          {mustChangePassword && path !== '/password' && (
            <Notice tone="warn">
              You are using a temporary password. <Link href="/password">Set your own</Link>.
            </Notice>
          )}
          <EnvironmentSwitch />
          {children}
        </main>
      </div>
    </>
  );
}

function Navigation({ items, path }: { items: readonly NavItem[]; path: string }) {
  const inEnvironment = useInEnvironment();
  const isHere = (item: NavItem) => path === item.path || path.startsWith(`${item.path}/`);
  return [...Map.groupBy(items, ({ group }) => group)].map(([group, members]) => (
    <section key={group} aria-label={group}>
      <h2>{group}</h2>
      <ul>
        {members.map((item) => (
          <li key={item.path}>
            <Link href={inEnvironment(item.path)} aria-current={isHere(item) ? 'page' : undefined}>
              {item.title}
            </Link>
          </li>
        ))}
      </ul>
    </section>
  ));
}

function WhoIsHere() {
  const { email, role, account } = useViewer();
  const { theme, toggle } = useTheme();
  const toast = useToast();
  const [path] = useLocation();
  const menu = useRef<HTMLDetailsElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a menu whose link was followed closes
  useEffect(() => {
    if (menu.current) menu.current.open = false;
  }, [path]);
  const leave = () =>
    signOut().catch(({ message }: Error) => toast({ text: `You are still signed in. ${message}` }));
  return (
    <div className="row">
      {account && <Money amount={account.balance} currency={account.currency} />}
      <Button look="quiet" onClick={toggle} aria-pressed={theme === 'dark'}>
        Dark
      </Button>
      <details
        className="account-menu"
        ref={menu}
        onKeyDown={(event) => {
          if (event.key !== 'Escape' || !menu.current) return;
          menu.current.open = false;
          menu.current.querySelector('summary')?.focus();
        }}
      >
        <summary>
          {account?.name ?? 'Platform'} · {formatName(role)}
        </summary>
        <div className="account-menu-items">
          <span className="quiet">{email}</span>
          <ButtonLink href="/password">Change password</ButtonLink>
          <Button onClick={() => void leave()}>Sign out</Button>
        </div>
      </details>
    </div>
  );
}

/** The title of a page, with its action buttons as children. */
export function PageHeader({ title, children }: { title: ReactNode; children?: ReactNode }) {
  return (
    <div className="row spread">
      <h1>{title}</h1>
      {children && <div className="row">{children}</div>}
    </div>
  );
}
