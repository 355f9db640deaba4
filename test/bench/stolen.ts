import { readFile } from 'node:fs/promises';

/** Total time of all processors, and the part that other virtual machines took (steal), in ticks of /proc/stat. */
interface MachineTime {
  readonly total: number;
  readonly stolen: number;
}

/** Reads the times from /proc/stat. Both are zero on a system without that file. */
export async function machineTime(): Promise<MachineTime> {
  const stat = await readFile('/proc/stat', 'utf8').catch(() => '');
  // The fields are user, nice, system, idle, iowait, irq, softirq and steal (proc_stat(5)). The fields after them are
  // left out, because user and nice include them.
  const ticks = (stat.split('\n', 1)[0] ?? '').split(/\s+/).slice(1, 9).map(Number);
  return { total: ticks.reduce((sum, each) => sum + each, 0), stolen: ticks[7] ?? 0 };
}

/** Returns the percentage of processor time between two moments that other virtual machines took. */
export function stolenPercent(before: MachineTime, after: MachineTime): number {
  const total = after.total - before.total;
  return total === 0 ? 0 : (100 * (after.stolen - before.stolen)) / total;
}
