import { MOD } from '../lib/shortcuts.ts';
import { t } from '../lib/words.ts';
import { Button } from './button.tsx';
import { Dialog, DialogActions } from './dialog.tsx';
import './shortcut-list.css';

const SHORTCUTS: readonly (readonly [keys: readonly string[], action: string])[] = [
  [[MOD, 'K'], t('Search')],
  [['['], t('Collapse or expand the menu')],
  [['?'], t('Show this list')],
  [['Esc'], t('Close a dialog, a menu or the drawer of a message')],
];

/** The list of keyboard shortcuts. */
export default function ShortcutList({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title={t('Keyboard shortcuts')} onClose={onClose}>
      <dl className="shortcut-list">
        {SHORTCUTS.map(([keys, action]) => (
          <div key={action}>
            <dt>{action}</dt>
            <dd>
              {keys.map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dd>
          </div>
        ))}
      </dl>
      <DialogActions>
        <Button look="primary" onClick={onClose}>
          {t('Close')}
        </Button>
      </DialogActions>
    </Dialog>
  );
}
