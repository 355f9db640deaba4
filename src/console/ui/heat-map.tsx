import { formatNumber } from '../lib/format.ts';
import { language, t } from '../lib/words.ts';
import { TableFrame } from './table-frame.tsx';
import './heat-map.css';

const HOURS = Array.from({ length: 24 }, (_, hour) => hour);
/** A Monday and the days after it, to name the days of the week. */
const WEEK = Array.from({ length: 7 }, (_, day) => new Date(2024, 0, 1 + day));
const weekday = new Intl.DateTimeFormat(language, { weekday: 'short' });
/** Opacity of a cell with the greatest count, in percent. */
const DARKEST = 90;

/** What was counted in one hour. */
export interface CountedHour {
  readonly at: Date;
  readonly count: number;
}

/**
 * Shows counts by day of the week and hour of the day, in the browser's time zone, as a table whose cells are darker the
 * more they count. Cells have their numbers as text for screen readers, and as a tooltip.
 */
export function HeatMap({ caption, hours }: { caption: string; hours: readonly CountedHour[] }) {
  const counts = WEEK.map(() => HOURS.map(() => 0));
  for (const { at, count } of hours) {
    const row = counts[(at.getDay() + 6) % 7];
    const hour = at.getHours();
    if (row) row[hour] = (row[hour] ?? 0) + count;
  }
  const most = Math.max(1, ...counts.flat());
  return (
    <div className="heat-map">
      <TableFrame caption={caption}>
        <thead>
          <tr>
            <th scope="col">
              <span className="visually-hidden">{t('Day')}</span>
            </th>
            {HOURS.map((hour) => (
              <th key={hour} scope="col">
                {hour % 3 === 0 ? hour : <span className="visually-hidden">{hour}</span>}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {WEEK.map((day, index) => (
            <tr key={day.getTime()}>
              <th scope="row">{weekday.format(day)}</th>
              {HOURS.map((hour) => {
                const count = counts[index]?.[hour] ?? 0;
                const share = Math.round((count / most) * DARKEST);
                return (
                  <td
                    key={hour}
                    title={`${weekday.format(day)} ${hour}:00–${hour + 1}:00: ${formatNumber(count)}`}
                    style={{ ['--share' as string]: `${share}%` }}
                  >
                    <span className="visually-hidden">{formatNumber(count)}</span>
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </TableFrame>
    </div>
  );
}
