import { Link } from 'wouter';
import { useInEnvironment } from '../lib/environment.ts';
import { formatNumber } from '../lib/format.ts';
import { t } from '../lib/words.ts';
import { DataTable } from './data-table.tsx';
import './bar-chart.css';

const WIDTH = 100;
const HEIGHT = 100;
const GAP = 0.2;
const LABELLED = ['first', 'middle', 'last'] as const;

export interface Series {
  readonly label: string;
  /** A CSS colour, such as `var(--chart-2)`. */
  readonly color: string;
}
export interface Bar {
  readonly label: string;
  /** One value for each series. */
  readonly values: readonly number[];
  /** The page that the bar leads to. */
  readonly href?: string;
}

/** Renders a stacked bar chart. It has an accessible name, and a table with the same numbers can be opened below it. */
export function BarChart({
  label,
  series,
  bars,
}: {
  label: string;
  series: readonly Series[];
  bars: readonly Bar[];
}) {
  const inEnvironment = useInEnvironment();
  const totals = bars.map(({ values }) => values.reduce((sum, value) => sum + value, 0));
  const top = topOf(Math.max(...totals));
  const isLinked = bars.some(({ href }) => href !== undefined);
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
      </figcaption>
      <div className="chart-plot">
        <div className="chart-axis" aria-hidden="true">
          {[top, top / 2, 0].map((value) => (
            <span key={value}>{formatNumber(value)}</span>
          ))}
        </div>
        <svg
          viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
          preserveAspectRatio="none"
          role={isLinked ? 'group' : 'img'}
          aria-label={label}
        >
          <path className="chart-lines" d={`M0 0H${WIDTH}M0 ${HEIGHT / 2}H${WIDTH}M0 ${HEIGHT}H${WIDTH}`} />
          {bars.map(({ label: name, values, href }, index) => {
            const text = `${name}: ${series.map((each, at) => `${each.label} ${formatNumber(values[at] ?? 0)}`).join(', ')}`;
            const column = (
              <g key={name}>
                <title>{text}</title>
                {href !== undefined && (
                  <rect className="chart-hit" x={index * step} width={step} y={0} height={HEIGHT} />
                )}
                {values.map((value, at) => {
                  const below = values.slice(0, at).reduce((sum, each) => sum + each, 0);
                  return (
                    <rect
                      key={series[at]?.label}
                      x={index * step + (step * GAP) / 2}
                      width={step * (1 - GAP)}
                      y={HEIGHT - ((below + value) / top) * HEIGHT}
                      height={(value / top) * HEIGHT}
                      fill={series[at]?.color}
                    />
                  );
                })}
              </g>
            );
            return href === undefined ? (
              column
            ) : (
              <Link key={name} href={inEnvironment(href)} aria-label={text} className="chart-bar">
                {column}
              </Link>
            );
          })}
        </svg>
        <div className="chart-range" aria-hidden="true">
          {[bars[0], bars[Math.floor(bars.length / 2)], bars.at(-1)].map((bar, at) => (
            <span key={LABELLED[at]}>{bar?.label}</span>
          ))}
        </div>
      </div>
      <details>
        <summary>{t('As a table')}</summary>
        <DataTable
          caption={label}
          rows={bars}
          keyOf={(bar) => bar.label}
          columns={[
            { header: t('When'), cell: (bar) => bar.label },
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

/**
 * Returns the highest value of the axis. It is at least 2 and has an even first digit, so that its half is round too.
 */
export function topOf(highest: number): number {
  const unit = 10 ** Math.max(0, Math.floor(Math.log10(Math.max(highest, 1))));
  return Math.max(2, Math.ceil(highest / unit / 2) * 2 * unit);
}
