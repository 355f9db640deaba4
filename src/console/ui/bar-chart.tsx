import { Link } from 'wouter';
import { useInEnvironment } from '../lib/environment.ts';
import { formatNumber } from '../lib/format.ts';
import { ChartFrame, columnText, HEIGHT, type Series, topOf, WIDTH } from './chart-frame.tsx';

const GAP = 0.2;

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
  const step = WIDTH / Math.max(1, bars.length);
  return (
    <ChartFrame
      label={label}
      series={series}
      columns={bars}
      top={top}
      format={formatNumber}
      isLinked={bars.some(({ href }) => href !== undefined)}
    >
      {bars.map((bar, index) => {
        const { label: name, values, href } = bar;
        const text = columnText(bar, series, formatNumber);
        const column = (
          <g key={name}>
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
    </ChartFrame>
  );
}
