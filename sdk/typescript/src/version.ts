/** The version of the package. A test fails if it differs from package.json. */
export const VERSION = '1.0.0';
