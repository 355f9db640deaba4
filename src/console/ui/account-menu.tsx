import { Check, ChevronDown, Keyboard, KeyRound, LogOut } from 'lucide-react';
import { DropdownMenu } from 'radix-ui';
import { useLocation } from 'wouter';
import { formatName } from '../lib/format.ts';
import { chooseLanguage } from '../lib/language-choice.ts';
import { signOut, useViewer } from '../lib/session.tsx';
import { THEMES, type Theme, useTheme } from '../lib/theme.ts';
import { LANGUAGES, type Language, language, t } from '../lib/words.ts';
import { useToast } from './toast.tsx';
import { Money } from './values.tsx';
import './account-menu.css';

const THEME_NAMES: Readonly<Record<Theme, string>> = {
  system: t('System'),
  light: t('Light'),
  dark: t('Dark'),
};

/** The menu of the signed-in person: theme, language, list of shortcuts, password and sign-out. */
export function AccountMenu({ onShortcuts }: { onShortcuts: () => void }) {
  const { email, role, account } = useViewer();
  const { theme, choose } = useTheme();
  const [, navigate] = useLocation();
  const toast = useToast();
  const leave = () =>
    signOut().catch(({ message }: Error) =>
      toast({ text: t('You are still signed in. {message}', { message }) }),
    );
  return (
    <DropdownMenu.Root modal={false}>
      <DropdownMenu.Trigger className="account-button">
        <span className="account-initial" aria-hidden="true">
          {email.slice(0, 1).toUpperCase()}
        </span>
        <span className="account-who">
          <span className="account-email">{email}</span>
          <span className="account-role">
            {account?.name ?? t('Platform')} · {formatName(role)}
          </span>
        </span>
        <ChevronDown className="icon" aria-hidden="true" />
      </DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content className="menu" align="end" sideOffset={4} collisionPadding={8}>
          <DropdownMenu.Label className="menu-label">
            {email}
            <br />
            {account?.name ?? t('Platform')}
            {account && account.balance !== null && (
              <>
                {' · '}
                <Money amount={account.balance} currency={account.currency} />
              </>
            )}
          </DropdownMenu.Label>
          <DropdownMenu.Separator className="menu-line" />
          <DropdownMenu.RadioGroup value={theme} onValueChange={(value) => choose(value as Theme)}>
            <DropdownMenu.Label className="menu-label">{t('Theme')}</DropdownMenu.Label>
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
          <DropdownMenu.RadioGroup
            value={language}
            onValueChange={(value) => chooseLanguage(value as Language)}
          >
            <DropdownMenu.Label className="menu-label">{t('Language')}</DropdownMenu.Label>
            {Object.entries(LANGUAGES).map(([tag, name]) => (
              <DropdownMenu.RadioItem key={tag} value={tag} className="menu-item" lang={tag}>
                <DropdownMenu.ItemIndicator>
                  <Check className="icon" aria-hidden="true" />
                </DropdownMenu.ItemIndicator>
                {name}
              </DropdownMenu.RadioItem>
            ))}
          </DropdownMenu.RadioGroup>
          <DropdownMenu.Separator className="menu-line" />
          <DropdownMenu.Item className="menu-item" onSelect={onShortcuts}>
            <Keyboard className="icon" aria-hidden="true" />
            {t('Keyboard shortcuts')}
          </DropdownMenu.Item>
          <DropdownMenu.Item className="menu-item" onSelect={() => navigate('/password')}>
            <KeyRound className="icon" aria-hidden="true" />
            {t('Change password')}
          </DropdownMenu.Item>
          <DropdownMenu.Item className="menu-item" onSelect={() => void leave()}>
            <LogOut className="icon" aria-hidden="true" />
            {t('Sign out')}
          </DropdownMenu.Item>
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  );
}
