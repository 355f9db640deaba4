/** The functions that the commands `backup` and `restore` call. */
export interface BackupTools {
  backUp(options: BackupOptions): Promise<BaseReport>;
  backUpContinuously(
    options: BackupOptions & {
      readonly signal: AbortSignal;
      readonly baseEveryHours: number;
      readonly onBase: (made: BaseReport) => void;
      readonly onKept: (until: Date) => void;
      readonly onFault: (error: unknown) => void;
    },
  ): Promise<void>;
  restore(options: {
    readonly from: string;
    readonly until: Date | undefined;
    readonly to: string | undefined;
    readonly isCheck: boolean;
    readonly onProgress: OnProgress;
  }): Promise<RestoreReport>;
}

interface BackupOptions {
  readonly to: string;
  readonly withKeys: boolean;
  readonly isFast: boolean;
  readonly onProgress: OnProgress;
}

export interface BaseReport {
  readonly file: string;
  readonly bytes: number;
  readonly postgres: string;
  readonly wholeUntil: string;
  readonly masterKey: string;
}

/** Called with two numbers of bytes: the bytes that are done, and the bytes that are expected. */
export type OnProgress = (done: number, expected: number) => void;

export interface RestoreReport {
  readonly base: string;
  readonly description: {
    readonly postgres: string;
    readonly wholeUntil: string;
    readonly masterKey: string;
  };
  readonly lastChangeAt: string | null;
  readonly directory: string | null;
  readonly isMasterKeyRight: boolean | null;
}
