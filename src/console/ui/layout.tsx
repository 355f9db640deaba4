import { Menu, Search, X } from 'lucide-react';
import { lazy, type ReactNode, Suspense, useEffect, useEffectEvent, useRef, useState } from 'react';
import { Link, useLocation } from 'wouter';
import { useInEnvironment } from '../lib/environment.ts';
import { useHold, usePermission, useViewer } from '../lib/session.tsx';
import { AccountMenu } from './account-menu.tsx';
import { Brand } from './brand.tsx';
import { EnvironmentSwitch, SandboxStrip } from './environment-switch.tsx';
import { NavIcon, type NavItem } from './nav-icon.tsx';
import { Notice } from './notice.tsx';
import { Money } from './values.tsx';
import './layout.css';

const Palette = lazy(() => import('./palette/palette.tsx'));

/** The frame of every page: the navigation menu, the bar with search and the signed-in person, and the page itself. */
export function Layout({ items, children }: { items: readonly NavItem[]; children: ReactNode }) {
  const [path] = useLocation();
  const [isOpen, setIsOpen] = useState(false);
  const main = useRef<HTMLElement>(null);
  const shownPath = useRef(path);
  const { mustChangePassword, account } = useViewer();
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
    <div className="shell">
      <a className="skip-link" href="#main">
        Skip to the content
      </a>
      <aside className="side" data-open={isOpen}>
        <Link href="/" className="brand">
          <Brand />
        </Link>
        <nav
          id="navigation"
          className="nav"
          aria-label="Pages"
          onKeyDown={({ key }) => key === 'Escape' && setIsOpen(false)}
        >
          <Navigation items={items} path={path} />
        </nav>
      </aside>
      {isOpen && (
        <button
          type="button"
          className="side-shade"
          aria-label="Close the menu"
          onClick={() => setIsOpen(false)}
        />
      )}
      <div className="page">
        <header className="bar">
          <button
            type="button"
            className="icon-button menu-button"
            aria-label="Menu"
            aria-expanded={isOpen}
            aria-controls="navigation"
            onClick={() => setIsOpen(!isOpen)}
          >
            {isOpen ? (
              <X className="icon" aria-hidden="true" />
            ) : (
              <Menu className="icon" aria-hidden="true" />
            )}
          </button>
          <SearchButton items={items} />
          <div className="bar-end">
            <EnvironmentSwitch />
            {account && (
              <span className="bar-balance">
                <span className="visually-hidden">Balance: </span>
                <Money amount={account.balance} currency={account.currency} />
              </span>
            )}
            <AccountMenu />
          </div>
        </header>
        <SandboxStrip />
        <main id="main" className="main stack" ref={main} tabIndex={-1}>
          {hold !== undefined && <Notice tone="warn">{hold}</Notice>}
          {mustChangePassword && path !== '/password' && (
            <Notice tone="warn">
              You are using a temporary password. <Link href="/password">Set your own</Link>.
            </Notice>
          )}
          {children}
        </main>
      </div>
    </div>
  );
}

/** Opens the search, also with ⌘K or Ctrl+K. */
function SearchButton({ items }: { items: readonly NavItem[] }) {
  const [isOpen, setIsOpen] = useState(false);
  const maySearch = usePermission('search.find');
  const onKey = useEffectEvent((event: KeyboardEvent) => {
    if (event.key.toLowerCase() !== 'k' || !(event.metaKey || event.ctrlKey)) return;
    event.preventDefault();
    setIsOpen(true);
  });
  useEffect(() => {
    const listen = (event: KeyboardEvent) => onKey(event);
    document.addEventListener('keydown', listen);
    return () => document.removeEventListener('keydown', listen);
  }, []);
  const isMac = navigator.userAgent.includes('Mac');
  return (
    <>
      <button type="button" className="search-button" onClick={() => setIsOpen(true)}>
        <Search className="icon" aria-hidden="true" />
        <span className="search-label">
          {maySearch ? 'Find a number, id, person or text' : 'Go to a page'}
        </span>
        <span className="keys" aria-hidden="true">
          {isMac ? '⌘K' : 'Ctrl K'}
        </span>
      </button>
      {isOpen && (
        <Suspense>
          <Palette pages={items} maySearch={maySearch} onClose={() => setIsOpen(false)} />
        </Suspense>
      )}
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
              <NavIcon path={item.path} />
              {item.title}
            </Link>
          </li>
        ))}
      </ul>
    </section>
  ));
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
