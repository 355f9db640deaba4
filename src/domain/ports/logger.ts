/** Structured logging. Pino implements it. Never log keys, secrets, message bodies or whole phone numbers. */
export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
  child(fields: object): Logger;
}
