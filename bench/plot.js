const [WIDTH, ROW, LEFT] = [640, 36, 120];

/**
 * Draws creates a second as bars.
 *
 * @param rates names, each with its rate
 */
export function plotRates(rates) {
  const most = Math.max(...rates.map(([, rate]) => rate));
  const bars = rates.flatMap(([name, rate], index) => {
    const y = index * ROW + 8;
    const length = (rate / most) * (WIDTH - LEFT - 70);
    return [
      `<text x="${LEFT - 8}" y="${y + 15}" text-anchor="end">${name}</text>`,
      `<rect x="${LEFT}" y="${y}" width="${length.toFixed(0)}" height="20" fill="${index === 0 ? 'green' : 'gray'}"/>`,
      `<text x="${(LEFT + length + 8).toFixed(0)}" y="${y + 15}">${Math.round(rate)}</text>`,
    ];
  });
  const [view, style] = [`viewBox="0 0 ${WIDTH} ${rates.length * ROW}"`, 'font-family="sans-serif" font-size="14"'];
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" ${view} ${style}>`,
    '<rect width="100%" height="100%" fill="white"/>',
    ...bars,
    '</svg>',
    '',
  ].join('\n');
}
