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
      {series.map((each, at) => {
        const values = points.map((point) => point.values[at] ?? null);
        return (
          <g key={each.label} stroke={each.color}>
            <path className="chart-line" d={lineOf(values, top)} />
            <path className="chart-line chart-dot" d={dotsOf(values, top)} />
          </g>
        );
      })}
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

type Values = readonly (number | null)[];

/** Returns the path of a line. A value after a null begins a new part. */
function lineOf(values: Values, top: number): string {
  return values
    .map((value, index) => {
      if (value === null) return '';
      return `${isNullAt(values, index - 1) ? 'M' : 'L'}${placeOf(values, index, value, top)}`;
    })
    .join('');
}

/** Returns the path of the values between two nulls, which no line shows. */
function dotsOf(values: Values, top: number): string {
  return values
    .map((value, index) => {
      const isAlone = isNullAt(values, index - 1) && isNullAt(values, index + 1);
      return value === null || !isAlone ? '' : `M${placeOf(values, index, value, top)}h0`;
    })
    .join('');
}

const isNullAt = (values: Values, index: number): boolean => (values[index] ?? null) === null;

function placeOf(values: Values, index: number, value: number, top: number): string {
  const x = ((index + 0.5) * WIDTH) / Math.max(1, values.length);
  return `${x} ${HEIGHT - (Math.min(value, top) / top) * HEIGHT}`;
}
