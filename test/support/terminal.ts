/**
 * Runs a program on a terminal of its own; `script` of util-linux (Debian: bsdutils) writes what that shows to stdout.
 */
export const ON_TERMINAL = { wrapper: ['sh', '-c', 'exec script -qefc "exec $*" /dev/null', 'sh'] };
