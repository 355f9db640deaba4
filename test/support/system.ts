import { createIds } from '../../src/crypto/ids.ts';
import type { Clock } from '../../src/domain/ports/system.ts';

/** The clock of this machine, which the test database uses too. */
export const machineClock: Clock = { now: () => new Date() };
export const machineIds = createIds(machineClock);
