import { useEnvironment, useSwitch } from '../lib/environment.ts';
import { Button } from './button.tsx';
import './environment-switch.css';

const CHOICES = [
  ['PRODUCTION', 'Production'],
  ['SANDBOX', 'Sandbox'],
] as const;

/** Switches the environment of the page. Renders nothing on a page that cannot be switched. */
export function EnvironmentSwitch() {
  const environment = useEnvironment();
  const switchTo = useSwitch();
  if (!switchTo) return null;
  return (
    <fieldset className="environment-switch row">
      <legend className="visually-hidden">Environment</legend>
      {CHOICES.map(([value, label]) => (
        <Button
          key={value}
          look={value === environment ? 'primary' : 'plain'}
          aria-pressed={value === environment}
          onClick={() => switchTo(value)}
        >
          {label}
        </Button>
      ))}
      <span className="quiet">
        {environment === 'SANDBOX'
          ? 'What sandbox keys see: nothing of it reaches anybody.'
          : 'What production keys see.'}
      </span>
    </fieldset>
  );
}
