import { type ReactNode, useEffect } from 'react';
import { brand } from '../../lib/brand.ts';
import { chooseLanguage } from '../../lib/language-choice.ts';
import { LANGUAGES, type Language, language, t } from '../../lib/words.ts';
import { Brand } from '../../ui/brand.tsx';
import { Choice } from '../../ui/choice.tsx';
import './sign-in.css';

const OPTIONS = Object.entries(LANGUAGES).map(([value, label]) => ({ value: value as Language, label }));
const CHOSEN = OPTIONS.find(({ value }) => value === language);

/** The frame of a page that needs no session, with the choice of the language. */
export function PublicPage({ title, children }: { title: string; children: ReactNode }) {
  useEffect(() => {
    document.title = `${title} · ${brand.name}`;
  }, [title]);
  return (
    <main className="sign-in">
      <p className="sign-in-brand">
        <Brand />
      </p>
      <h1>{title}</h1>
      {children}
      <Choice label={t('Language')} options={OPTIONS} chosen={CHOSEN} onChoose={chooseLanguage} />
    </main>
  );
}
