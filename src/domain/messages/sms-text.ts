/** Placeholder until the domain rules land. */
export type SmsEncoding = 'GSM-7' | 'UCS-2';
