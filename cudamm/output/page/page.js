"use strict";
// The charts: uPlot draws lines and axes; which point is chosen, by pointer or keys, is decided here.
(() => {
  const root = document.documentElement;
  const charts = JSON.parse(document.getElementById("chart-data").textContent);
  const COLOURS = 7;
  const DASHES = [[], [9, 4], [2, 3]];
  const NEAREST_PX = 60; // a pointer further from every point chooses none
  const STEP_PX = 46; // labels below the chart are no closer than that
  const SVG = "http://www.w3.org/2000/svg";

  const colour = (name) => getComputedStyle(root).getPropertyValue(name).trim();
  const isNumber = (value) => typeof value === "number";

  const made = (tag, properties = {}, ...children) => {
    const found = Object.assign(document.createElement(tag), properties);
    found.append(...children);
    return found;
  };

  const short = (value) => {
    if (value === 0) return "0";
    return value >= 1 ? String(Number(value.toPrecision(4))) : String(Number(value.toPrecision(3)));
  };

  class Chart {
    constructor(figure, described) {
      this.figure = figure;
      this.described = described;
      this.place = figure.querySelector(".plot");
      this.spoken = figure.querySelector(".spoken");
      this.quantity = "rate";
      this.hidden = new Set();
      this.chosen = null; // [line, position]
      this.isLogarithmic = this.spread() > 30;
      this.controls();
      this.legend();
      this.place.replaceChildren();
      this.tip = made("div", { className: "tip", hidden: true });
      this.draw();
      this.listen();
    }

    values(line) {
      return this.described.series[line][this.quantity];
    }

    lines() {
      return this.described.series.map((_, line) => line).filter((line) => !this.hidden.has(line));
    }

    spread() {
      const all = this.lines().flatMap((line) => this.values(line)).filter((value) => value > 0);
      return all.length ? Math.max(...all) / Math.min(...all) : 1;
    }

    controls() {
      const place = this.figure.querySelector(".controls");
      const number = place.dataset.number;
      const choice = (value, text) => {
        const input = made("input", { type: "radio", name: `quantity-${number}`, checked: this.quantity === value });
        input.addEventListener("change", () => {
          this.quantity = value;
          this.redraw();
        });
        return made("label", {}, input, ` ${text}`);
      };
      const log = made("input", { type: "checkbox", checked: this.isLogarithmic });
      log.addEventListener("change", () => {
        this.isLogarithmic = log.checked;
        this.redraw();
      });
      const legend = made("legend", { className: "unseen", textContent: "Show" });
      place.append(
        made("fieldset", {}, legend, choice("rate", this.described.unit), choice("ms", "time (ms)")),
        made("label", {}, log, " logarithmic"),
      );
    }

    legend() {
      const list = made("ul", { className: "legend" });
      this.described.series.forEach((series, line) => {
        const svg = document.createElementNS(SVG, "svg");
        const stroke = document.createElementNS(SVG, "line");
        for (const [name, value] of [["width", 28], ["height", 10], ["aria-hidden", "true"]]) svg.setAttribute(name, value);
        for (const [name, value] of [["x1", 0], ["x2", 28], ["y1", 5], ["y2", 5]]) stroke.setAttribute(name, value);
        stroke.setAttribute("stroke-dasharray", this.dash(line).join(" "));
        stroke.style.stroke = `var(--c${line % COLOURS})`;
        svg.append(stroke);
        const button = made("button", { type: "button" }, svg, series.name);
        button.setAttribute("aria-pressed", "true");
        button.addEventListener("click", () => {
          if (!this.hidden.delete(line)) this.hidden.add(line);
          button.setAttribute("aria-pressed", String(!this.hidden.has(line)));
          this.redraw();
        });
        list.append(made("li", {}, button));
      });
      if (this.described.series.length > 1) this.place.after(list);
    }

    dash(line) {
      return DASHES[Math.floor(line / COLOURS) % DASHES.length];
    }

    redraw() {
      this.choose(null);
      this.draw();
    }

    draw(width = this.place.clientWidth) {
      this.width = width;
      if (this.plot) this.plot.destroy();
      const { sizes, values, series, label } = this.described;
      const at = sizes || values.map((_, position) => position);
      const shown = this.lines().flatMap((line) => this.values(line)).filter((value) => value > 0);
      const high = Math.max(...shown, Number.MIN_VALUE), low = Math.min(...shown, high);
      const text = colour("--text"), grid = colour("--line"), page = colour("--page");
      const font = `12px ${getComputedStyle(document.body).fontFamily}`;
      const axis = { stroke: text, font, labelFont: font, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid, width: 1 } };
      const xRange = sizes ? [at[0] / 1.12, at[at.length - 1] * 1.12] : [-0.35, at.length - 0.65];
      const ticks = new Map(this.described.ticks[this.quantity]); // of the logarithmic axis: values and texts
      const yRange = this.isLogarithmic ? [low / 1.4, high * 1.4] : [0, high * 1.06];
      const options = {
        width,
        height: Math.max(260, Math.min(420, width * 0.55)),
        padding: [12, 12, 0, 0],
        legend: { show: false },
        cursor: { show: false },
        focus: { alpha: 0.25 },
        scales: {
          x: { time: false, distr: sizes ? 3 : 1, log: 2, range: () => xRange },
          y: { distr: this.isLogarithmic ? 3 : 1, range: () => yRange },
        },
        axes: [
          {
            ...axis,
            label,
            splits: (plot) => this.spaced(plot, at),
            filter: (_, splits) => splits,
            values: (_, splits) => splits.map((split) => values[at.indexOf(split)]),
          },
          {
            ...axis,
            label: this.quantity === "ms" ? "median (ms)" : this.described.unit,
            size: 64,
            filter: (_, splits) => splits,
            ...(this.isLogarithmic
              ? { splits: (_, index, from, to) => [...ticks.keys()].filter((value) => value >= from && value <= to) }
              : {}),
            values: (_, splits) => splits.map((split) => (split === null ? "" : ticks.get(split) ?? short(split))),
          },
        ],
        series: [
          {},
          ...series.map((one, line) => ({
            label: one.name,
            stroke: colour(`--c${line % COLOURS}`),
            width: 2,
            dash: this.dash(line),
            spanGaps: true,
            show: !this.hidden.has(line),
            points: { show: true, size: 7, width: 2, fill: page, stroke: colour(`--c${line % COLOURS}`) },
          })),
        ],
        hooks: { draw: [(plot) => this.ring(plot, text)] },
      };
      this.plot = new uPlot(options, [at, ...series.map((_, line) => this.values(line))], this.place);
      this.plot.root.setAttribute("aria-hidden", "true");
      this.plot.over.append(this.tip);
    }

    // Values whose labels do not touch; always the last one.
    spaced(plot, at) {
      const kept = [];
      for (const value of [...at].reverse()) {
        const px = plot.valToPos(value, "x");
        if (!kept.length || plot.valToPos(kept[0], "x") - px >= this.step()) kept.unshift(value);
      }
      return kept;
    }

    step() {
      const longest = Math.max(...this.described.values.map((value) => value.length));
      return Math.max(STEP_PX, longest * 7.5 + 12);
    }

    position(line, index) {
      const { sizes } = this.described;
      return [
        this.plot.valToPos(sizes ? sizes[index] : index, "x"),
        this.plot.valToPos(this.values(line)[index], "y"),
      ];
    }

    // Around the chosen point.
    ring(plot, stroke) {
      if (!this.chosen) return;
      const [line, index] = this.chosen;
      const { sizes } = this.described;
      const context = plot.ctx;
      context.save();
      context.beginPath();
      context.arc(
        plot.valToPos(sizes ? sizes[index] : index, "x", true),
        plot.valToPos(this.values(line)[index], "y", true),
        8 * devicePixelRatio, 0, 2 * Math.PI,
      );
      context.lineWidth = 2 * devicePixelRatio;
      context.strokeStyle = stroke;
      context.stroke();
      context.restore();
    }

    choose(point, isSpoken = false) {
      const same = point && this.chosen && point[0] === this.chosen[0] && point[1] === this.chosen[1];
      if (same || (!point && !this.chosen)) return;
      this.chosen = point;
      if (this.described.series.length > 1)
        this.plot.setSeries(point ? point[0] + 1 : null, { focus: Boolean(point) }, false);
      this.plot.redraw(false, false);
      this.tip.hidden = !point;
      if (!point) {
        this.spoken.textContent = "";
        return;
      }
      const [line, index] = point;
      const series = this.described.series[line];
      const [name, ...rest] = series.texts[index];
      this.tip.replaceChildren(made("b", { textContent: name }), rest.join(", "));
      const [x, y] = this.position(line, index);
      const room = this.plot.over.clientWidth, high = this.plot.over.clientHeight;
      const style = this.tip.style;
      style.left = `${Math.max(0, Math.min(x + 14, room - this.tip.offsetWidth - 4))}px`;
      style.top = `${y + 14 + this.tip.offsetHeight > high ? Math.max(0, y - 14 - this.tip.offsetHeight) : y + 14}px`;
      if (isSpoken) this.spoken.textContent = series.texts[index].join(", ");
    }

    nearest(x, y) {
      let found = null, least = NEAREST_PX ** 2;
      for (const line of this.lines())
        this.values(line).forEach((value, index) => {
          if (!isNumber(value)) return;
          const [px, py] = this.position(line, index);
          const distance = (px - x) ** 2 + (py - y) ** 2;
          if (distance < least) [found, least] = [[line, index], distance];
        });
      return found;
    }

    // The best point of all, where the keys begin.
    first() {
      let found = null;
      for (const line of this.lines())
        this.values(line).forEach((value, index) => {
          if (!isNumber(value)) return;
          const better = found && (this.quantity === "ms" ? value < found[2] : value > found[2]);
          if (!found || better) found = [line, index, value];
        });
      return found && found.slice(0, 2);
    }

    // Left and right along a line; up and down to the next line that has a point at this value.
    moved(key) {
      const [line, index] = this.chosen;
      const there = (at) => isNumber(this.values(line)[at]);
      const count = this.described.values.length;
      if (key === "ArrowLeft" || key === "ArrowRight") {
        const step = key === "ArrowLeft" ? -1 : 1;
        for (let at = index + step; at >= 0 && at < count; at += step) if (there(at)) return [line, at];
        return this.chosen;
      }
      if (key === "Home" || key === "End") {
        const all = [...Array(count).keys()].filter(there);
        return [line, key === "Home" ? all[0] : all[all.length - 1]];
      }
      const height = this.values(line)[index];
      const others = this.lines()
        .map((other) => [other, this.values(other)[index]])
        .filter(([other, value]) => other !== line && isNumber(value))
        .filter(([, value]) => (key === "ArrowUp" ? value > height : value < height))
        .sort((a, b) => Math.abs(a[1] - height) - Math.abs(b[1] - height));
      return others.length ? [others[0][0], index] : this.chosen;
    }

    listen() {
      this.place.addEventListener("pointermove", (event) => {
        const box = this.plot.over.getBoundingClientRect();
        this.choose(this.nearest(event.clientX - box.left, event.clientY - box.top));
      });
      this.place.addEventListener("pointerleave", () => this.choose(null));
      this.place.addEventListener("focus", () => {
        if (this.place.matches(":focus-visible")) this.choose(this.chosen || this.first(), true);
      });
      this.place.addEventListener("blur", () => this.choose(null));
      this.place.addEventListener("keydown", (event) => {
        if (event.key === "Escape") this.choose(null);
        else if (/^(Arrow(Left|Right|Up|Down)|Home|End)$/.test(event.key)) {
          this.choose(this.chosen ? this.moved(event.key) : this.first(), true);
          event.preventDefault();
        }
      });
      new ResizeObserver(() => {
        if (this.place.clientWidth && this.place.clientWidth !== this.width && !root.classList.contains("printing"))
          this.redraw();
      }).observe(this.place);
    }
  }

  const all = [...document.querySelectorAll("figure.chart")].map((figure, number) => new Chart(figure, charts[number]));
  const redrawn = (width) => all.forEach((chart) => (chart.choose(null), chart.draw(width)));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => redrawn());

  // Paper is white and of its own width, and cannot be unfolded: the charts' tables are opened for it.
  const PAPER_PX = 660;
  let opened = [];
  addEventListener("beforeprint", () => {
    root.classList.add("printing");
    opened = [...document.querySelectorAll("figure.chart details:not([open])")];
    opened.forEach((details) => (details.open = true));
    redrawn(PAPER_PX);
  });
  addEventListener("afterprint", () => {
    root.classList.remove("printing");
    opened.forEach((details) => (details.open = false));
    redrawn();
  });
})();
