import { type FocusEvent, type PointerEvent, type ReactNode, useState } from 'react';
import { t } from '../lib/words.ts';
import { DataTable } from './data-table.tsx';
import './chart-frame.css';

/** Size of a chart in units of its SVG, which is stretched to its place. */
export const WIDTH = 100;
export const HEIGHT = 100;
const LABELLED = ['first', 'middle', 'last'] as const;

export interface Series {
  readonly label: string;
  /** A CSS colour, such as `var(--chart-2)`. */
  readonly color: string;
}

/** What stands above one place of the horizontal axis. */
export interface ChartColumn {
  readonly label: string;
  /** One value for each series. Null: there is none. */
  readonly values: readonly (number | null)[];
}

/**
 * The frame of a chart: legend, axes and grid, and a table with the same values, which can be opened below. `children`
 * are the marks, as SVG. The vertical axis goes from 0 to `top`. The values below the pointer or finger, or of the
 * focused mark, are shown beside it.
 */
export function ChartFrame({
  label,
  series,
  columns,
  top,
  format,
  isLinked,
  children,
}: {
  label: string;
  series: readonly Series[];
  columns: readonly ChartColumn[];
  top: number;
  format: (value: number) => string;
  /** Whether the marks are links. */
  isLinked: boolean;
  children: ReactNode;
}) {
  const [read, setRead] = useState<number>();
  const column = read === undefined ? undefined : columns[read];
  const readPointer = ({ clientX, currentTarget }: PointerEvent<SVGSVGElement>) => {
    const { left, width } = currentTarget.getBoundingClientRect();
    const index = Math.floor(((clientX - left) / Math.max(1, width)) * columns.length);
    setRead(Math.min(Math.max(index, 0), columns.length - 1));
  };
  const readFocus = ({ target, currentTarget }: FocusEvent<SVGSVGElement>) => {
    const marks: readonly EventTarget[] = [...currentTarget.querySelectorAll('a')];
    const index = marks.indexOf(target);
    setRead(index < 0 ? undefined : index);
  };
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
        <div className="chart-area">
          <svg
            onPointerDown={readPointer}
            onPointerMove={readPointer}
            onPointerLeave={() => setRead(undefined)}
            onFocus={readFocus}
            onBlur={() => setRead(undefined)}
            viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
            preserveAspectRatio="none"
            role={isLinked ? 'group' : 'img'}
            aria-label={label}
          >
            <path className="chart-lines" d={`M0 0H${WIDTH}M0 ${HEIGHT / 2}H${WIDTH}M0 ${HEIGHT}H${WIDTH}`} />
            {children}
          </svg>
          {column && read !== undefined && (
            // The mark has the same text as its name.
            <div
              className="chart-tip"
              aria-hidden="true"
              data-side={read * 2 < columns.length ? 'right' : 'left'}
              style={{ insetInlineStart: `${((read + 0.5) / columns.length) * 100}%` }}
            >
              <strong>{column.label}</strong>
              {series.map((each, index) => (
                <span key={each.label}>
                  <i style={{ background: each.color }} />
                  {each.label} {valueText(column.values[index], format)}
                </span>
              ))}
            </div>
          )}
        </div>
        <div className="chart-range" aria-hidden="true">
          {[columns[0], columns[Math.floor(columns.length / 2)], columns.at(-1)].map((column, at) => (
            <span key={LABELLED[at]}>{column?.label}</span>
          ))}
        </div>
      </div>
      <details>
        <summary>{t('As a table')}</summary>
        <DataTable
          caption={label}
          rows={columns}
          keyOf={(column) => column.label}
          columns={[
            { header: t('When'), cell: (column) => column.label },
            ...series.map((each, at) => ({
              header: each.label,
              cell: (column: ChartColumn) => valueText(column.values[at], format),
              isNumber: true,
            })),
          ]}
        />
      </details>
    </figure>
  );
}

/** Says what stands above one place, for screen readers. */
export function columnText(
  { label, values }: ChartColumn,
  series: readonly Series[],
  format: (value: number) => string,
): string {
  return `${label}: ${series.map((each, at) => `${each.label} ${valueText(values[at], format)}`).join(', ')}`;
}

function valueText(value: number | null | undefined, format: (value: number) => string): string {
  return value === null || value === undefined ? '–' : format(value);
}

/**
 * Returns the highest value of the axis. It is at least 2 and has an even first digit, so that its half is round too.
 */
export function topOf(highest: number): number {
  const unit = 10 ** Math.max(0, Math.floor(Math.log10(Math.max(highest, 1))));
  return Math.max(2, Math.ceil(highest / unit / 2) * 2 * unit);
}
