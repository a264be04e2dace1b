import type { Command } from 'commander';
import { CommandError } from './exit-status.js';

export function configure(command: Command): void {
  command.action(() => {
    throw new CommandError('this command is not made yet');
  });
}
