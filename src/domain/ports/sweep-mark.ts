/** The last message that a sweep has looked at: when it was to leave, and its id. */
export interface SweepMark {
  readonly at: Date;
  readonly id: string;
}
