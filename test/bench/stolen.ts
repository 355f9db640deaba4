import { readFile } from 'node:fs/promises';

/** Total time of all processors, and the part that other virtual machines took (steal). */
interface MachineTime {
  readonly total: number;
  readonly stolen: number;
}

/** Zero if the system cannot say. */
export async function machineTime(): Promise<MachineTime> {
  const stat = await readFile('/proc/stat', 'utf8').catch(() => '');
  // user, nice, system, idle, iowait, irq, softirq, steal (proc_stat(5)); what follows is counted in the first two.
  const ticks = (stat.split('\n', 1)[0] ?? '').split(/\s+/).slice(1, 9).map(Number);
  return { total: ticks.reduce((sum, each) => sum + each, 0), stolen: ticks[7] ?? 0 };
}

/** The stolen share between two moments, in percent. */
export function stolenPercent(before: MachineTime, after: MachineTime): number {
  const total = after.total - before.total;
  return total === 0 ? 0 : (100 * (after.stolen - before.stolen)) / total;
}
