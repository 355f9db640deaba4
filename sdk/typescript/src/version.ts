/** The version of the package. A test fails if it differs from package.json. */
export const VERSION = '0.1.0';
