/** The exit statuses of the program; see docs/data.md. */
export const EXIT_STATUS = {
  done: 0,
  failed: 1,
  /** The configuration or the command line is wrong. */
  badUsage: 2,
  /** The command has finished, and found rejected rows, conflicts or differences. */
  findings: 3,
  interrupted: 130,
} as const;

export type ExitStatus = (typeof EXIT_STATUS)[keyof typeof EXIT_STATUS];
