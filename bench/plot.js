/** Draws the plots of bench/README.md. */

const [WIDTH, HEIGHT, LEFT, BOTTOM] = [640, 320, 50, 40];

/** Plots µs a create over the logarithm of the number of plants: growth with log n is a straight line. */
export function plotGrowth(points) {
  const most = Math.max(...points.map(({ rate }) => 1e6 / rate)) * 1.2;
  const decades = Math.log10(points.at(-1).plants);
  const x = (plants) => LEFT + (Math.log10(plants) / decades) * (WIDTH - LEFT - 20);
  const y = scale(most);
  return svg([
    ...line(
      points.map(({ plants, rate }) => [x(plants), y(1e6 / rate)]),
      'green',
    ),
    ...Array.from({ length: Math.floor(decades) + 1 }, (_, power) =>
      text(x(10 ** power), HEIGHT - 22, `10${['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸'][power]}`),
    ),
    ...labels(most, 'plants in the store', 'µs a create'),
  ]);
}

/**
 * Plots creates a second over WORKERS: the measured ones, and the limit that follows from the CPU time of the workers, if
 * each has a core of its own and the disk does not limit them.
 *
 * @param points the measured ones: `workers` and `rate`
 * @param limit returns the limit for a number of workers
 */
export function plotCores(points, limit) {
  const workers = Array.from({ length: 8 }, (_, index) => index + 1);
  const most = Math.max(...workers.map(limit), ...points.map(({ rate }) => rate)) * 1.2;
  const x = (count) => LEFT + ((count - 1) / (workers.length - 1)) * (WIDTH - LEFT - 20);
  const y = scale(most);
  return svg([
    ...line(
      workers.map((count) => [x(count), y(limit(count))]),
      'gray',
    ),
    ...line(
      points.map(({ workers, rate }) => [x(workers), y(rate)]),
      'green',
    ),
    ...workers.map((count) => text(x(count), HEIGHT - 22, count)),
    ...labels(most, 'WORKERS', 'creates a second: measured with the generator (green), limit of the CPU time (gray)'),
  ]);
}

function scale(most) {
  return (value) => HEIGHT - BOTTOM - (value / most) * (HEIGHT - BOTTOM - 20);
}

function labels(most, below, above) {
  const y = scale(most);
  return [
    ...[0, 0.5, 1].map((part) => text(LEFT - 5, y(most * part) + 4, (most * part).toFixed(0), 'end')),
    text(WIDTH / 2, HEIGHT - 5, below),
    text(LEFT, 13, above, 'start'),
  ];
}

function line(curve, color) {
  const points = curve.map((point) => point.map((value) => value.toFixed(1)));
  return [
    `<polyline points="${points.map((point) => point.join()).join(' ')}" fill="none" stroke="${color}" stroke-width="2"/>`,
    ...points.map(([cx, cy]) => `<circle cx="${cx}" cy="${cy}" r="3" fill="${color}"/>`),
  ];
}

function text(x, y, content, anchor = 'middle') {
  return `<text x="${x.toFixed(0)}" y="${y.toFixed(0)}" text-anchor="${anchor}">${content}</text>`;
}

function svg(elements) {
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="12">`,
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="white"/>`,
    `<path d="M${LEFT},20V${HEIGHT - BOTTOM}H${WIDTH - 20}" fill="none" stroke="black"/>`,
    ...elements,
    '</svg>',
    '',
  ].join('\n');
}
