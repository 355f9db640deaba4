import { type ReactNode, useEffect, useId, useRef, useState } from 'react';
import './data-table.css';

/**
 * The frame of a table. If the table is wider than the window, the frame scrolls, and takes the focus so that the
 * arrow keys scroll it.
 */
export function TableFrame({ caption, children }: { caption: ReactNode; children: ReactNode }) {
  const frame = useRef<HTMLDivElement>(null);
  const id = useId();
  const [isScrolling, setIsScrolling] = useState(false);
  useEffect(() => {
    const { current } = frame;
    const table = current?.firstElementChild;
    if (!current || !table) return;
    const observer = new ResizeObserver(() => setIsScrolling(current.scrollWidth > current.clientWidth));
    observer.observe(current);
    observer.observe(table);
    return () => observer.disconnect();
  }, []);
  const scrolling = { tabIndex: 0, role: 'region', 'aria-labelledby': id };
  return (
    <div ref={frame} className="table-frame" {...(isScrolling ? scrolling : {})}>
      <table className="table">
        <caption id={id}>{caption}</caption>
        {children}
      </table>
    </div>
  );
}
