/** Greatest number of days that a span of figures may have, for counting its points. */
export const SPAN_DAYS_MAX = 3_660;
/** Description of the argument for the end of a span. */
export const SPAN_END =
  'End of the span, exclusive. At most 32 days later with HOUR, 367 with DAY, ten years otherwise.';
