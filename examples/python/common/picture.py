# SPDX-License-Identifier: Apache-2.0
"""A picture of who ran when, as SVG: opens in every browser and notebook, needs no library."""
COLOURS = ("#2f5d9b", "#c8553d", "#4c9f70", "#8d6a9f", "#b8860b", "#555555")
WIDTH, ROW = 780, 26
BAR = "a bar is one request or step, from its first launch to its result"


def tick_ms(window_ms):
    """About eight ticks, at round numbers."""
    return next((t for t in (10, 20, 50, 100, 200, 250, 500, 1000, 2000, 5000) if window_ms / t <= 10), int(window_ms // 5))


def who_ran_when(title, roles, variants, window_ms=400.0, bar=BAR):
    """variants: {name: {role: [[intended, begin, end], ...]}}; shows the middle of the run. A role with a colour of its
    own has that."""
    left = max([20] + [len(f"{r.name} ({r.priority})") * 7 + 20 for r in roles])
    parts, y = [], 40
    for variant, by_role in variants.items():
        ends = [s[-1][2] for s in by_role.values() if s]
        start = max(0.0, max(ends, default=0) / 2 - window_ms / 2)
        if variant:
            parts.append(f'<text x="8" y="{y + 12}" font-weight="bold">{variant}</text>')
            y += 20
        for i, role in enumerate(roles):
            parts.append(f'<text x="8" y="{y + 16}">{role.name} ({role.priority})</text>')
            parts.append(f'<line x1="{left}" x2="{left + WIDTH}" y1="{y + ROW - 3}" y2="{y + ROW - 3}" stroke="#ddd"/>')
            for due, begin, end in by_role.get(role.name, ()):
                if end < start or begin > start + window_ms:
                    continue
                x0 = left + (max(begin, start) - start) * WIDTH / window_ms
                x1 = left + (min(end, start + window_ms) - start) * WIDTH / window_ms
                parts.append(f'<rect x="{x0:.2f}" y="{y + 3}" width="{max(x1 - x0, 0.7):.2f}" height="{ROW - 8}" '
                             f'fill="{role.colour or COLOURS[i % len(COLOURS)]}" stroke="#fff" stroke-width="0.4"><title>{begin:.2f} to '
                             f'{end:.2f} ms</title></rect>')
            y += ROW
        for tick in range(0, int(window_ms) + 1, tick_ms(window_ms)):
            x = left + tick * WIDTH / window_ms
            parts.append(f'<text x="{x:.1f}" y="{y + 11}" font-size="9" text-anchor="middle">{tick}</text>')
        y += 26
    parts.append(f'<text x="{left}" y="{y + 6}" font-size="10">time, ms; {bar}</text>')
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + WIDTH + 20}" height="{y + 20}" font-family="sans-serif" '
            f'font-size="12"><rect width="100%" height="100%" fill="#fff"/><text x="8" y="20" font-size="15">{title}</text>'
            + "".join(parts) + "</svg>\n")
