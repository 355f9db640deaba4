/**
 * Loaded by `--import` before a process: its wall clock is CLOCK_SHIFT_MS off, from the start where CLOCK_SHIFT_STARTS is
 * set, and SIGUSR2 sets the clock to the other of the two times. Its monotonic clock goes on as it is.
 */
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
