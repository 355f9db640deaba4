/** That of the package; a test holds them equal. */
export const VERSION = '0.1.0';
