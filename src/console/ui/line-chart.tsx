import { Link } from 'wouter';
import { useInEnvironment } from '../lib/environment.ts';
import { t } from '../lib/words.ts';
import { type Series, topOf } from './bar-chart.tsx';
import { DataTable } from './data-table.tsx';
import './bar-chart.css';
import './line-chart.css';

const WIDTH = 100;
const HEIGHT = 100;
const LABELLED = ['first', 'middle', 'last'] as const;

export interface Point {
  readonly label: string;
  /** One value for each series. Null interrupts its line. */
  readonly values: readonly (number | null)[];
  /** The page that the point leads to. */
  readonly href: string;
}

/**
 * Renders lines over time, with the axis from 0 to `top`, or to a round number above the highest value. Each point is a
 * link with its values as its name, and a table with the same values can be opened below.
 */
export function LineChart({
  label,
  series,
  points,
  format,
  top: given,
}: {
  label: string;
  series: readonly Series[];
  points: readonly Point[];
  format: (value: number) => string;
  top?: number;
}) {
  const inEnvironment = useInEnvironment();
  const top = given ?? topOf(Math.max(...points.flatMap(({ values }) => values.map((value) => value ?? 0))));
  const step = WIDTH / Math.max(1, points.length);
  const textOf = (value: number | null | undefined) => (value == null ? '–' : format(value));
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
            <span key={value}>{format(value)}</span>
          ))}
        </div>
        {/* biome-ignore lint/a11y/useSemanticElements: an SVG cannot be a fieldset. */}
        <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="group" aria-label={label}>
          <path className="chart-lines" d={`M0 0H${WIDTH}M0 ${HEIGHT / 2}H${WIDTH}M0 ${HEIGHT}H${WIDTH}`} />
          {points.map((point, index) => {
            const values = series.map((each, at) => `${each.label} ${textOf(point.values[at])}`);
            const text = `${point.label}: ${values.join(', ')}`;
            return (
              <Link
                key={point.label}
                href={inEnvironment(point.href)}
                aria-label={text}
                className="chart-bar"
              >
                <title>{text}</title>
                <rect className="chart-hit" x={index * step} width={step} y={0} height={HEIGHT} />
              </Link>
            );
          })}
          {series.map((each, at) => (
            <path
              key={each.label}
              className="chart-line"
              stroke={each.color}
              d={lineOf(
                points.map(({ values }) => values[at] ?? null),
                top,
              )}
            />
          ))}
        </svg>
        <div className="chart-range" aria-hidden="true">
          {[points[0], points[Math.floor(points.length / 2)], points.at(-1)].map((point, at) => (
            <span key={LABELLED[at]}>{point?.label}</span>
          ))}
        </div>
      </div>
      <details>
        <summary>{t('As a table')}</summary>
        <DataTable
          caption={label}
          rows={points}
          keyOf={(point) => point.label}
          columns={[
            { header: t('When'), cell: (point) => point.label },
            ...series.map((each, at) => ({
              header: each.label,
              cell: (point: Point) => textOf(point.values[at]),
              isNumber: true,
            })),
          ]}
        />
      </details>
    </figure>
  );
}

/** A small line of `values` for a cell of a table. `label` says what it shows. */
export function Sparkline({ label, values }: { label: string; values: readonly number[] }) {
  return (
    <svg
      className="sparkline"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
    >
      <path className="chart-line" stroke="var(--chart-1)" d={lineOf(values, Math.max(1, ...values))} />
    </svg>
  );
}

/** Returns the path of a line. A value between two nulls is a dot. */
function lineOf(values: readonly (number | null)[], top: number): string {
  const step = WIDTH / Math.max(1, values.length);
  return values
    .map((value, index) => {
      if (value === null) return '';
      const x = (index + 0.5) * step;
      const y = HEIGHT - (Math.min(value, top) / top) * HEIGHT;
      return (values[index - 1] ?? null) === null ? `M${x} ${y}h0` : `L${x} ${y}`;
    })
    .join('');
}
