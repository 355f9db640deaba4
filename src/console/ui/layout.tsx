import { Menu, PanelLeftClose, PanelLeftOpen, Search, X } from 'lucide-react';
import { Tooltip } from 'radix-ui';
import { lazy, type ReactNode, Suspense, useLayoutEffect, useRef, useState } from 'react';
import { Link, useLocation } from 'wouter';
import { brand } from '../lib/brand.ts';
import { useInEnvironment } from '../lib/environment.ts';
import { usePlace } from '../lib/places.ts';
import { useHold, usePermission, useViewer } from '../lib/session.tsx';
import { MOD, useShortcuts } from '../lib/shortcuts.ts';
import { useStored } from '../lib/stored.ts';
import { t, withWords } from '../lib/words.ts';
import { AccountMenu } from './account-menu.tsx';
import { Brand } from './brand.tsx';
import { EnvironmentSwitch, SandboxStrip } from './environment-switch.tsx';
import { NavIcon, type NavItem } from './nav-icon.tsx';
import { Notice } from './notice.tsx';
import { OpenAlertsLink } from './open-alerts.tsx';
import { T } from './t.tsx';
import { Money } from './values.tsx';
import './layout.css';

const Palette = lazy(() => withWords(() => import('./palette/palette.tsx')));
const ShortcutList = lazy(() => withWords(() => import('./shortcut-list.tsx')));

/** Width up to which the menu is a drawer (layout.css). It cannot be collapsed there. */
const AS_DRAWER = '(max-width: 56rem)';
const TOOLTIP_DELAY_MS = 200;

/** The frame of every page: the navigation menu, the bar with search and the signed-in person, and the page itself. */
export function Layout({ items, children }: { items: readonly NavItem[]; children: ReactNode }) {
  const [path] = useLocation();
  const [isOpen, setIsOpen] = useState(false);
  const main = useRef<HTMLElement>(null);
  const { mustChangePassword, account } = useViewer();
  const hold = useHold();
  const [isCollapsed, setIsCollapsed] = useStored('console-menu-collapsed', (stored) => stored === true);
  const [showsShortcuts, setShowsShortcuts] = useState(false);
  const collapse = () => setIsCollapsed(!isCollapsed);
  useShortcuts({
    '?': () => setShowsShortcuts(true),
    '[': () => {
      if (!matchMedia(AS_DRAWER).matches) collapse();
    },
  });
  usePlace(main);
  const nav = useRef<HTMLElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another path marks another link
  useLayoutEffect(() => showCurrent(nav.current), [path]);
  // A page that is opened closes the drawer with the menu.
  const [menuPath, setMenuPath] = useState(path);
  if (menuPath !== path) {
    setMenuPath(path);
    setIsOpen(false);
  }
  return (
    <div className="shell" data-collapsed={isCollapsed}>
      <a className="skip-link" href="#main">
        {t('Skip to the content')}
      </a>
      <aside className="side" data-open={isOpen}>
        <Link href="/" className="brand" title={isCollapsed ? brand.name : undefined}>
          <Brand />
        </Link>
        <nav
          ref={nav}
          id="navigation"
          className="nav"
          aria-label={t('Pages')}
          onKeyDown={({ key }) => key === 'Escape' && setIsOpen(false)}
        >
          <Tooltip.Provider delayDuration={TOOLTIP_DELAY_MS}>
            <Navigation items={items} path={path} isCollapsed={isCollapsed} />
          </Tooltip.Provider>
        </nav>
        <CollapseButton isCollapsed={isCollapsed} onClick={collapse} />
      </aside>
      {isOpen && (
        <button
          type="button"
          className="side-shade"
          aria-label={t('Close the menu')}
          onClick={() => setIsOpen(false)}
        />
      )}
      <div className="page">
        <header className="bar">
          <button
            type="button"
            className="icon-button menu-button"
            aria-label={t('Menu')}
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
            <OpenAlertsLink />
            {account && (
              <span className="bar-balance">
                <span className="visually-hidden">{t('Balance:')} </span>
                {account.balance !== null && <Money amount={account.balance} currency={account.currency} />}
              </span>
            )}
            <AccountMenu onShortcuts={() => setShowsShortcuts(true)} />
          </div>
        </header>
        <SandboxStrip />
        <main id="main" className="main stack" ref={main} tabIndex={-1}>
          {hold !== undefined && <Notice tone="warn">{hold}</Notice>}
          {mustChangePassword && path !== '/password' && (
            <Notice tone="warn">
              <T
                text="You are using a temporary password. <link>Set your own</link>."
                link={<Link href="/password" />}
              />
            </Notice>
          )}
          {children}
        </main>
      </div>
      {showsShortcuts && (
        <Suspense>
          <ShortcutList onClose={() => setShowsShortcuts(false)} />
        </Suspense>
      )}
    </div>
  );
}

/** Scrolls the menu, not the page, to the link of the current page if it is out of view. */
function showCurrent(nav: HTMLElement | null): void {
  const link = nav?.querySelector('[aria-current="page"]')?.getBoundingClientRect();
  const box = nav?.getBoundingClientRect();
  if (!nav || !link || !box) return;
  if (link.top < box.top || link.bottom > box.bottom) {
    nav.scrollTop += link.top - box.top - (box.height - link.height) / 2;
  }
}

function CollapseButton({ isCollapsed, onClick }: { isCollapsed: boolean; onClick: () => void }) {
  const label = isCollapsed ? t('Expand the menu') : t('Collapse the menu');
  const Icon = isCollapsed ? PanelLeftOpen : PanelLeftClose;
  return (
    <button
      type="button"
      className="side-toggle"
      aria-label={label}
      aria-keyshortcuts="["
      title={`${label} ([)`}
      onClick={onClick}
    >
      <Icon className="icon" aria-hidden="true" />
      <span className="nav-label" aria-hidden="true">
        {t('Collapse')}
      </span>
    </button>
  );
}

/** Opens the search, also with ⌘K or Ctrl+K. */
function SearchButton({ items }: { items: readonly NavItem[] }) {
  const [isOpen, setIsOpen] = useState(false);
  const maySearch = usePermission('search.find');
  const mayLookUp = usePermission('platform.lookUp');
  useShortcuts({ 'mod+k': () => setIsOpen(true) });
  return (
    <>
      <button type="button" className="search-button" onClick={() => setIsOpen(true)}>
        <Search className="icon" aria-hidden="true" />
        <span className="search-label">
          {maySearch
            ? t('Find a number, id, person or text')
            : mayLookUp
              ? t('Find a message or a page')
              : t('Go to a page')}
        </span>
        <span className="keys" aria-hidden="true">
          {MOD === '⌘' ? '⌘K' : 'Ctrl K'}
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

function Navigation({
  items,
  path,
  isCollapsed,
}: {
  items: readonly NavItem[];
  path: string;
  isCollapsed: boolean;
}) {
  const isHere = (item: NavItem) => path === item.path || path.startsWith(`${item.path}/`);
  return [...Map.groupBy(items, ({ group }) => group)].map(([group, members]) => (
    <section key={group} aria-label={group}>
      <h2>
        <span className="nav-label">{group}</span>
      </h2>
      <ul>
        {members.map((item) => (
          <li key={item.path}>
            <NavLink item={item} isHere={isHere(item)} isCollapsed={isCollapsed} />
          </li>
        ))}
      </ul>
    </section>
  ));
}

/** A page in the menu. Collapsed, it is an icon, and its name is in a tooltip. */
function NavLink({
  item: { path, title, isOutside },
  isHere,
  isCollapsed,
}: {
  item: NavItem;
  isHere: boolean;
  isCollapsed: boolean;
}) {
  const inEnvironment = useInEnvironment();
  const content = (
    <>
      <NavIcon path={path} />
      <span className="nav-label">{title}</span>
    </>
  );
  const link = isOutside ? (
    <a href={path}>{content}</a>
  ) : (
    <Link href={inEnvironment(path)} aria-current={isHere ? 'page' : undefined}>
      {content}
    </Link>
  );
  if (!isCollapsed) return link;
  return (
    <Tooltip.Root>
      <Tooltip.Trigger asChild>{link}</Tooltip.Trigger>
      <Tooltip.Portal>
        <Tooltip.Content className="nav-tooltip" side="right" sideOffset={8}>
          {title}
        </Tooltip.Content>
      </Tooltip.Portal>
    </Tooltip.Root>
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
