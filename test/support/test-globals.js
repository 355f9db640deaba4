/** What test files import as `@jest/globals`. Each name stands for that of the test file that runs (native-modules.js). */
const standIn = (name) =>
  new Proxy(() => undefined, {
    apply: (_target, _self, values) => globalThis.testGlobals[name](...values),
    get: (_target, member) => globalThis.testGlobals[name][member],
  });

export const afterAll = standIn('afterAll');
export const afterEach = standIn('afterEach');
export const beforeAll = standIn('beforeAll');
export const beforeEach = standIn('beforeEach');
export const describe = standIn('describe');
export const expect = standIn('expect');
export const it = standIn('it');
export const jest = standIn('jest');
export const test = standIn('test');
