import { useEnvironment, useSwitch } from '../lib/environment.ts';
import { t } from '../lib/words.ts';
import './environment-switch.css';

const CHOICES = [
  ['PRODUCTION', t('Production')],
  ['SANDBOX', t('Sandbox')],
] as const;

/** Switches the environment of the page. Renders nothing on a page that cannot be switched. */
export function EnvironmentSwitch() {
  const environment = useEnvironment();
  const switchTo = useSwitch();
  if (!switchTo) return null;
  return (
    <fieldset className="environment-switch">
      <legend className="visually-hidden">{t('Environment')}</legend>
      {CHOICES.map(([value, label]) => (
        <button
          type="button"
          key={value}
          aria-pressed={value === environment}
          onClick={() => switchTo(value)}
        >
          {label}
        </button>
      ))}
    </fieldset>
  );
}

/** A strip above the page while it shows the sandbox, so that nobody takes its figures for real ones. */
export function SandboxStrip() {
  const isSandbox = useEnvironment() === 'SANDBOX';
  if (!isSandbox) return null;
  return <p className="sandbox-strip">{t('Sandbox: nothing here reaches anybody or costs anything.')}</p>;
}
