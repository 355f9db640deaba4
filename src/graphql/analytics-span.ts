/** The points of an analytics query count at most this many days of its span. */
export const SPAN_DAYS_MAX = 3_660;
/** Description of the argument for the end of a span. */
export const SPAN_END =
  'End of the span, exclusive. At most 32 days later with HOUR, 367 with DAY, ten years otherwise.';
