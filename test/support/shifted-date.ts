/**
 * Shifts the wall clock of a process by CLOCK_SHIFT_MS. `--import` loads this file before the program. The shift begins
 * at the start if CLOCK_SHIFT_STARTS is set, and else at the first SIGUSR2. Each SIGUSR2 switches between right and
 * shifted time. The monotonic clock is not shifted. Timers of one minute fire every five seconds.
 */
const MINUTE_MS = 60_000;
const SHORT_MS = 5_000;
globalThis.setTimeout = new Proxy(globalThis.setTimeout, {
  apply: (target, self, [work, delayMs, ...rest]) =>
    Reflect.apply(target, self, [work, delayMs === MINUTE_MS ? SHORT_MS : delayMs, ...rest]),
});

const RealDate = Date;
const shiftMs = Number(process.env.CLOCK_SHIFT_MS);
let offMs = process.env.CLOCK_SHIFT_STARTS === undefined ? 0 : shiftMs;

globalThis.Date = new Proxy(RealDate, {
  construct: (_target, given, newTarget) =>
    Reflect.construct(RealDate, given.length === 0 ? [RealDate.now() + offMs] : given, newTarget),
  apply: () => new RealDate(RealDate.now() + offMs).toString(),
  get: (target, name) => (name === 'now' ? () => RealDate.now() + offMs : Reflect.get(target, name)),
});

process.on('SIGUSR2', () => {
  offMs = offMs === 0 ? shiftMs : 0;
});
