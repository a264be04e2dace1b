/** How often a property runs, compared with the sample of `npm test`: properties.yml sets it to more once a week. */
export const RUNS = Number(process.env.RUNS ?? 1);
