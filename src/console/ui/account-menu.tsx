import { Check, ChevronDown, Keyboard, KeyRound, LogOut } from 'lucide-react';
import { DropdownMenu } from 'radix-ui';
import { useLocation } from 'wouter';
import { formatName } from '../lib/format.ts';
import { signOut, useViewer } from '../lib/session.tsx';
import { THEMES, type Theme, useTheme } from '../lib/theme.ts';
import { useToast } from './toast.tsx';
import { Money } from './values.tsx';
import './account-menu.css';

const THEME_NAMES: Readonly<Record<Theme, string>> = { system: 'System', light: 'Light', dark: 'Dark' };

/** The menu of the signed-in person: theme, list of shortcuts, password and sign-out. */
export function AccountMenu({ onShortcuts }: { onShortcuts: () => void }) {
  const { email, role, account } = useViewer();
  const { theme, choose } = useTheme();
  const [, navigate] = useLocation();
  const toast = useToast();
  const leave = () =>
    signOut().catch(({ message }: Error) => toast({ text: `You are still signed in. ${message}` }));
  return (
    <DropdownMenu.Root modal={false}>
      <DropdownMenu.Trigger className="account-button">
        <span className="account-initial" aria-hidden="true">
          {email.slice(0, 1).toUpperCase()}
        </span>
        <span className="account-who">
          <span className="account-email">{email}</span>
          <span className="account-role">
            {account?.name ?? 'Platform'} · {formatName(role)}
          </span>
        </span>
        <ChevronDown className="icon" aria-hidden="true" />
      </DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content className="menu" align="end" sideOffset={4} collisionPadding={8}>
          <DropdownMenu.Label className="menu-label">
            {email}
            <br />
            {account?.name ?? 'Platform'}
            {account && (
              <>
                {' · '}
                <Money amount={account.balance} currency={account.currency} />
              </>
            )}
          </DropdownMenu.Label>
          <DropdownMenu.Separator className="menu-line" />
          <DropdownMenu.RadioGroup value={theme} onValueChange={(value) => choose(value as Theme)}>
            <DropdownMenu.Label className="menu-label">Theme</DropdownMenu.Label>
            {THEMES.map((each) => (
              <DropdownMenu.RadioItem key={each} value={each} className="menu-item">
                <DropdownMenu.ItemIndicator>
                  <Check className="icon" aria-hidden="true" />
                </DropdownMenu.ItemIndicator>
                {THEME_NAMES[each]}
              </DropdownMenu.RadioItem>
            ))}
          </DropdownMenu.RadioGroup>
          <DropdownMenu.Separator className="menu-line" />
          <DropdownMenu.Item className="menu-item" onSelect={onShortcuts}>
            <Keyboard className="icon" aria-hidden="true" />
            Keyboard shortcuts
          </DropdownMenu.Item>
          <DropdownMenu.Item className="menu-item" onSelect={() => navigate('/password')}>
            <KeyRound className="icon" aria-hidden="true" />
            Change password
          </DropdownMenu.Item>
          <DropdownMenu.Item className="menu-item" onSelect={() => void leave()}>
            <LogOut className="icon" aria-hidden="true" />
            Sign out
          </DropdownMenu.Item>
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  );
}
