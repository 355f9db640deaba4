import { Bookmark, Trash2 } from 'lucide-react';
import { DropdownMenu } from 'radix-ui';
import { useState } from 'react';
import { useLocation, useSearchParams } from 'wouter';
import { useViewer } from '../../lib/session.tsx';
import { useStored } from '../../lib/stored.ts';
import { t } from '../../lib/words.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog, DialogActions } from '../../ui/dialog.tsx';
import { Field } from '../../ui/field.tsx';
import { Form, textOf } from '../../ui/form.tsx';
import { MenuButton } from '../../ui/menu-button.tsx';
import { T } from '../../ui/t.tsx';
import { fieldFault } from './send-form.tsx';

/** Named filters of the list, as the query of its URL. */
interface View {
  readonly name: string;
  readonly query: string;
}
/** Most views of a person in a browser. */
const MOST = 20;
const NAME_LENGTH = 40;
/** Parts of the URL that are not filters: the page of the list and the open drawer. */
const PLACES = ['after', 'message'];

function readViews(stored: unknown): readonly View[] {
  if (!Array.isArray(stored)) return [];
  return stored
    .filter((each): each is View => typeof each?.name === 'string' && typeof each?.query === 'string')
    .slice(0, MOST);
}

/** The menu of saved views. A view is kept in this browser for the person who is signed in. */
export function SavedViews() {
  const { id } = useViewer();
  const [views, store] = useStored(`console-message-views-${id}`, readViews);
  const [params] = useSearchParams();
  const [path, navigate] = useLocation();
  const [isNaming, setIsNaming] = useState(false);
  const [fault, setFault] = useState<Error>();
  const query = queryOf(params);
  const shown = views.find((view) => view.query === query);
  const save = (name: string) => {
    if (name === '') return setFault(fieldFault('name', t('Give it a name.')));
    store([...views.filter((view) => view.name !== name), { name, query }]);
    setIsNaming(false);
  };
  return (
    <>
      <MenuButton label={shown?.name ?? t('Views')}>
        <DropdownMenu.Label className="menu-label">
          {views.length === 0 ? t('Filters that you save are listed here.') : t('Saved in this browser')}
        </DropdownMenu.Label>
        {views.map((view) => (
          <DropdownMenu.Item
            key={view.name}
            className="menu-item"
            onSelect={() => navigate(view.query === '' ? path : `${path}?${view.query}`)}
          >
            {view.name}
          </DropdownMenu.Item>
        ))}
        <DropdownMenu.Separator className="menu-line" />
        {shown ? (
          <DropdownMenu.Item
            className="menu-item"
            onSelect={() => store(views.filter((view) => view !== shown))}
          >
            <Trash2 className="icon" aria-hidden="true" />
            <T text="Delete “{name}”" name={shown.name} />
          </DropdownMenu.Item>
        ) : (
          <DropdownMenu.Item
            className="menu-item"
            disabled={views.length >= MOST}
            onSelect={() => {
              setFault(undefined);
              setIsNaming(true);
            }}
          >
            <Bookmark className="icon" aria-hidden="true" />
            {views.length >= MOST
              ? t('At most {count} views: delete one first', { count: MOST })
              : t('Save these filters')}
          </DropdownMenu.Item>
        )}
      </MenuButton>
      {isNaming && (
        <Dialog title={t('Save these filters')} onClose={() => setIsNaming(false)}>
          <Form
            label={t('Save these filters')}
            error={fault ?? null}
            onSubmit={(values) => save(textOf(values, 'name'))}
          >
            <Field
              name="name"
              label={t('Name')}
              hint={t('The view is kept in this browser. The same name replaces a view.')}
              maxLength={NAME_LENGTH}
              autoComplete="off"
            />
            <DialogActions>
              <Button onClick={() => setIsNaming(false)}>{t('Cancel')}</Button>
              <Button type="submit" look="primary">
                {t('Save')}
              </Button>
            </DialogActions>
          </Form>
        </Dialog>
      )}
    </>
  );
}

function queryOf(params: URLSearchParams): string {
  const filters = new URLSearchParams(params);
  for (const name of PLACES) filters.delete(name);
  filters.sort();
  return filters.toString();
}
