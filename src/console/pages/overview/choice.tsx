import { Button } from '../../ui/button.tsx';

interface Option {
  readonly value: string;
  readonly label: string;
}

/** A row of buttons that selects one of a few options. */
export function Choice<Given extends Option>({
  label,
  options,
  chosen,
  onChoose,
}: {
  label: string;
  options: readonly Given[];
  chosen: Option;
  onChoose: (value: Given['value']) => void;
}) {
  return (
    <fieldset className="overview-choice">
      <legend className="visually-hidden">{label}</legend>
      {options.map((option) => (
        <Button
          key={option.value}
          aria-pressed={option.value === chosen.value}
          onClick={() => onChoose(option.value)}
        >
          {option.label}
        </Button>
      ))}
    </fieldset>
  );
}
