import process from 'node:process';

/** Progress lines of a run. */
const LINES = 8;

/**
 * Reports the progress of a run in a few lines, and the failures of a spec file and its console output as soon as it
 * ends. Jest's own summary follows.
 */
export default class ProgressReporter {
  #printed = 0;

  onTestResult(test, { console: output = [], failureMessage }, { numTotalTestSuites: total, testResults }) {
    if (failureMessage) {
      const project = test.context.config.displayName?.name ?? '';
      const printed = output.map(({ type, message, origin }) => `console.${type}: ${message}\n${origin}\n`);
      process.stderr.write(`FAIL ${project} ${test.path}\n${failureMessage}\n${printed.join('\n')}`);
    }
    const due = Math.floor((LINES * testResults.length) / total);
    if (due === this.#printed) return;
    this.#printed = due;
    process.stderr.write(`Spec files that have run: ${testResults.length} of ${total}\n`);
  }
}
