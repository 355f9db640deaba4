import { Link } from 'wouter';
import { useInEnvironment } from '../lib/environment.ts';
import {
  type ChartColumn,
  ChartFrame,
  columnText,
  HEIGHT,
  type Series,
  topOf,
  WIDTH,
} from './chart-frame.tsx';
import './line-chart.css';

/** A place of the axis. A null among its values interrupts the line of that series. */
export interface Point extends ChartColumn {
  /** The page that the point leads to. */
  readonly href: string;
}

/**
 * Renders lines over time, with the axis from 0 to `top`, or to a round number above the highest value. Each point is a
 * link with its values as its name.
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
  return (
    <ChartFrame label={label} series={series} columns={points} top={top} format={format} isLinked>
      {points.map((point, index) => {
        const text = columnText(point, series, format);
        return (
          <Link key={point.label} href={inEnvironment(point.href)} aria-label={text} className="chart-bar">
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
    </ChartFrame>
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
