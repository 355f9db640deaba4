import { Button } from './button.tsx';
import './choice.css';

interface Option {
  readonly value: string;
  readonly label: string;
}

/** A row of buttons that selects one of a few options. `chosen` may be undefined: then no button is pressed. */
export function Choice<Given extends Option>({
  label,
  options,
  chosen,
  onChoose,
}: {
  label: string;
  options: readonly Given[];
  chosen: Option | undefined;
  onChoose: (value: Given['value']) => void;
}) {
  return (
    <fieldset className="segments">
      <legend className="visually-hidden">{label}</legend>
      {options.map((option) => (
        <Button
          key={option.value}
          aria-pressed={option.value === chosen?.value}
          onClick={() => onChoose(option.value)}
        >
          {option.label}
        </Button>
      ))}
    </fieldset>
  );
}
