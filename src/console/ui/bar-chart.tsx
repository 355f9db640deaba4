import { formatNumber } from '../lib/format.ts';
import { DataTable } from './data-table.tsx';
import './bar-chart.css';

const WIDTH = 100;
const HEIGHT = 100;
const GAP = 0.2;

export interface Series {
  readonly label: string;
  /** A token, such as `var(--chart-2)`. */
  readonly color: string;
}
export interface Bar {
  readonly label: string;
  /** One value for each series. */
  readonly values: readonly number[];
}

/** Stacked bars. The picture has a name; the numbers stand in a table that opens below it. */
export function BarChart({
  label,
  series,
  bars,
}: {
  label: string;
  series: readonly Series[];
  bars: readonly Bar[];
}) {
  const totals = bars.map(({ values }) => values.reduce((sum, value) => sum + value, 0));
  const highest = Math.max(1, ...totals);
  const step = WIDTH / Math.max(1, bars.length);
  return (
    <figure className="chart stack">
      <figcaption className="chart-legend">
        {series.map(({ label: name, color }) => (
          <span key={name}>
            <i style={{ background: color }} />
            {name}
          </span>
        ))}
        <span className="quiet">highest {formatNumber(highest)}</span>
      </figcaption>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={label}>
        {bars.map(({ label: name, values }, index) => (
          <g key={name}>
            <title>{`${name}: ${series.map((each, at) => `${each.label} ${formatNumber(values[at] ?? 0)}`).join(', ')}`}</title>
            {values.map((value, at) => {
              const below = values.slice(0, at).reduce((sum, each) => sum + each, 0);
              return (
                <rect
                  key={series[at]?.label}
                  x={index * step + (step * GAP) / 2}
                  width={step * (1 - GAP)}
                  y={HEIGHT - ((below + value) / highest) * HEIGHT}
                  height={(value / highest) * HEIGHT}
                  fill={series[at]?.color}
                />
              );
            })}
          </g>
        ))}
      </svg>
      <div className="chart-range" aria-hidden="true">
        <span>{bars[0]?.label}</span>
        <span>{bars.at(-1)?.label}</span>
      </div>
      <details>
        <summary>As a table</summary>
        <DataTable
          caption={label}
          rows={bars}
          keyOf={(bar) => bar.label}
          columns={[
            { header: 'When', cell: (bar) => bar.label },
            ...series.map((each, at) => ({
              header: each.label,
              cell: (bar: Bar) => formatNumber(bar.values[at] ?? 0),
              isNumber: true,
            })),
          ]}
        />
      </details>
    </figure>
  );
}
