"use strict";
// The live panel: reads the model's parameters from the page, computes p(y | x) as the library does, and shows it.
// Names, labels and words are data: they reach the page as text nodes only.
(() => {
  const holder = document.getElementById("model");
  if (!holder) return;
  const model = JSON.parse(holder.textContent);
  const classes = model.labels.length;

  // ---------------------------------------------------------------- numbers

  // JSON has no infinity: it comes as a string. Long arrays come as the bytes of their float64, in base 64.
  function numbers(value) {
    if (Array.isArray(value)) return value.map(numbers);
    if (value !== null && typeof value === "object" && "f64" in value) {
      return shaped(Array.from(new Float64Array(bytes(value.f64))), value.shape);
    }
    return Number(value);
  }

  function bytes(encoded) {
    const text = atob(encoded), out = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) out[i] = text.charCodeAt(i);
    return out.buffer;
  }

  // An array of n numbers; the number of bytes tells their type.
  function array(buffer, n, types) {
    return n ? new types[buffer.byteLength / n](buffer) : [];
  }

  function shaped(flat, shape) {
    if (shape.length < 2) return flat;
    const [rows, columns] = shape, out = [];
    for (let i = 0; i < rows; i++) out.push(flat.slice(i * columns, (i + 1) * columns));
    return out;
  }

  // log Γ(x) of x > 0: Stirling's series, from 10 on exact to the last digits.
  function logGamma(x) {
    if (!(x > 0)) return x === 0 ? Infinity : NaN;
    let shift = 0;
    if (x < 10) {
      let product = 1;
      while (x < 10) product *= x++;
      shift = Math.log(product);
    }
    const r = 1 / x, q = r * r;
    const series = r * (1 / 12 + q * (-1 / 360 + q * (1 / 1260 + q * (-1 / 1680 + q * (1 / 1188 + q * (-691 / 360360
      + q / 156))))));
    return (x - 0.5) * Math.log(x) - x + 0.5 * Math.log(2 * Math.PI) + series - shift;
  }

  function logSumExp(terms) {
    let top = -Infinity;
    for (const term of terms) if (term > top || term !== term) top = term;
    if (!Number.isFinite(top)) return top;
    let sum = 0;
    for (const term of terms) sum += Math.exp(term - top);
    return top + Math.log(sum);
  }

  // ---------------------------------------------------------------- formulas

  // Each formula becomes a function of a row (a Map from columns to values, null where one is missing) that gives a
  // number for each class, or one for all of them.
  const pairs = {
    add: (a, b) => a + b, subtract: (a, b) => a - b, multiply: (a, b) => a * b, divide: (a, b) => a / b,
  };
  const functions = {
    square: (a) => a * a, sqrt: Math.sqrt, abs: Math.abs, log: Math.log, log1p: Math.log1p, exp: Math.exp, log_gamma: logGamma,
  };

  function formula(node) {
    if (node.op in pairs) {
      const left = formula(node.left), right = formula(node.right), does = pairs[node.op];
      return (row) => both(left(row), right(row), does);
    }
    if (node.op in functions) {
      const of = formula(node.of), does = functions[node.op];
      return (row) => of(row).map((value) => does(value));
    }
    return nodes[node.op](node);
  }

  function both(a, b, does) {
    const n = Math.max(a.length, b.length), out = new Array(n);
    for (let i = 0; i < n; i++) out[i] = does(a[a.length === 1 ? 0 : i], b[b.length === 1 ? 0 : i]);
    return out;
  }

  const at = (list, i) => list[list.length === 1 ? 0 : i];

  function numberIn(row, column) {
    const value = row.get(column);
    return value === null || value === undefined ? NaN : Number(value);
  }

  const nodes = {
    column: (node) => (row) => [numberIn(row, node.column)],
    constant: (node) => {
      const values = numbers(node.values);
      return () => values;
    },
    unknown: () => () => [NaN],
    log_sum_exp: (node) => {
      const terms = node.terms.map(formula);
      return (row) => {
        const values = terms.map((term) => term(row)), n = Math.max(...values.map((each) => each.length));
        return Array.from({ length: n }, (_, c) => logSumExp(values.map((each) => at(each, c))));
      };
    },
    linear: (node) => {
      const origin = numbers(node.origin), coef = numbers(node.coef), n = Math.max(origin.length, coef.length);
      return (row) => {
        const x = node.columns.map((column) => numberIn(row, column));
        return Array.from({ length: n }, (_, c) => x.reduce((sum, v, j) => sum + (v - at(origin, c)[j]) * at(coef, c)[j], 0));
      };
    },
    cosines: (node) => {
      const of = node.of.map(formula), frequency = numbers(node.frequency), phase = numbers(node.phase), coef = numbers(node.coef);
      return (row) => {
        const x = of.map((each) => each(row)[0]);
        const waves = phase.map((start, d) => Math.cos(2 * Math.PI * x.reduce((sum, v, j) => sum + v * frequency[j][d], start)));
        return coef.map((own) => own.reduce((sum, a, d) => sum + a * waves[d], 0));
      };
    },
    bumps: (node) => {
      const centre = numbers(node.centre), width = numbers(node.width), height = numbers(node.height);
      const of = formula(node.of);
      return (row) => {
        const x = of(row);
        return height.map((own, c) => logSumExp(own.map((h, k) => {
          const z = Math.max(-1e150, Math.min(1e150, (at(x, c) - at(centre, c)[k]) / at(at(width, c), k)));
          return h - 0.5 * z * z;
        })));
      };
    },
    lookup: (node) => {
      const place = new Map(node.keys.map((key, i) => [key, i])), table = numbers(node.numbers);
      const otherwise = numbers(node.otherwise);
      return (row) => {
        const i = place.get(row.get(node.column));
        return i === undefined ? otherwise : table.map((own) => own[i]);
      };
    },
    combinations: (node) => {
      const place = new Map(node.keys.map((key, i) => [JSON.stringify(key), i])), table = numbers(node.numbers);
      const otherwise = numbers(node.otherwise);
      return (row) => {
        const key = node.columns.map((column) => row.get(column));
        const i = key.includes(other) ? undefined : place.get(JSON.stringify(key));
        return i === undefined ? otherwise : table.map((own) => own[i]);
      };
    },
    steps: (node) => {
      const edges = numbers(node.edges), table = numbers(node.numbers), of = formula(node.of);
      const bin = (x) => {
        let i = 0;
        while (i < edges.length && edges[i] < x) i++;
        return i;
      };
      return (row) => {
        const bins = of(row).map(bin);
        return table.map((own, c) => own[at(bins, c)]);
      };
    },
    above: (node) => {
      const of = formula(node.of), limit = Number(node.limit);
      return (row) => of(row).map((x) => Number(x > limit));
    },
    where: (node) => {
      const holds = conditions[node.condition.op](node.condition);
      const then = formula(node.then), otherwise = formula(node.otherwise);
      return (row) => (holds(row) ? then(row) : otherwise(row));
    },
  };

  const conditions = {
    missing: (node) => (row) => row.get(node.column) === null || row.get(node.column) === undefined,
    below: (node) => {
      const limit = Number(node.limit), of = formula(node.of);
      return (row) => {
        const [x] = of(row);
        return node.touching ? x <= limit : x < limit;
      };
    },
    fraction: (node) => {
      const of = formula(node.of);
      return (row) => Math.floor(of(row)[0]) < of(row)[0];
    },
    among: (node) => {
      const known = new Set(node.keys);
      return (row) => known.has(row.get(node.column));
    },
  };

  // A category that the model has never met.
  const other = Symbol("another value");

  // ---------------------------------------------------------------- texts

  const space = "[\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]";

  function features(text, how) {
    if (how.lowercase) text = text.toLowerCase();
    if (how.strip_accents === "ascii") text = text.normalize("NFKD").replace(/[^\x00-\x7f]/g, "");
    const found = [];
    if (how.analyzer === "word") {
      let words = text.match(/[\p{L}\p{N}_]{2,}/gu) || [];
      if (how.stop.size) words = words.filter((word) => !how.stop.has(word));
      for (let n = how.least; n <= Math.min(how.most, words.length); n++) {
        for (let i = 0; i + n <= words.length; i++) found.push([words.slice(i, i + n).join(" "), n - how.least]);
      }
      return found;
    }
    if (how.analyzer === "char") {
      const letters = Array.from(text.replace(new RegExp(space + "{2,}", "g"), " "));
      for (let n = how.least; n <= Math.min(how.most, letters.length); n++) {
        for (let i = 0; i + n <= letters.length; i++) found.push([letters.slice(i, i + n).join(""), 0]);
      }
      return found;
    }
    for (const word of text.split(new RegExp(space + "+")).filter((part) => part)) {
      const letters = [" ", ...Array.from(word), " "];
      for (let n = how.least; n <= how.most; n++) {
        for (let i = 0; i <= Math.max(letters.length - n, 0); i++) found.push([letters.slice(i, i + n).join(""), 0]);
        if (n >= letters.length) break;
      }
    }
    return found;
  }

  const weights = { count: (c) => c, binary: () => 1, sqrt: Math.sqrt, log: (c) => 1 + Math.log(c) };

  // A column of texts: returns scores of its words by class, {scores, words: [{title, scores}], besides: [...]}.
  function text(node) {
    const how = { ...node.how, stop: new Set(node.how.stop) };
    const start = new Uint32Array(bytes(node.start)), entries = start[start.length - 1];
    const codes = array(bytes(node.codes), entries, { 1: Uint8Array, 2: Uint16Array, 4: Uint32Array });
    const coef = array(bytes(node.coef), entries, { 4: Float32Array, 8: Float64Array }), base = numbers(node.base), intercept = numbers(node.intercept);
    const length = numbers(node.length), total = numbers(node.total);
    const place = new Map(node.words.map((word, i) => [word, i]));
    const urn = (n, x) => logGamma(n + node.added + x) - logGamma(n + node.added)
      - logGamma(node.added + x) + logGamma(node.added);
    return (row) => {
      const value = row.get(node.column);
      const out = { scores: new Array(classes).fill(0), words: [], besides: [] };
      if (value === null || value === undefined) return out;
      const counts = new Map(), all = base.map(() => 0), unknown = base.map(() => 0);
      for (const [name, block] of features(value, how)) {
        all[block]++;
        if (!place.has(name)) unknown[block]++;
        else if (counts.has(name)) counts.get(name).count++;
        else counts.set(name, { count: 1, block });
      }
      const norm = node.weighting.norm, sums = unknown.slice();
      for (const each of counts.values()) {
        each.value = weights[node.weighting.term](each.count);
        sums[each.block] += norm === "l2" ? each.value * each.value : each.value;
      }
      const scale = sums.map((sum) => (norm === null || sum <= 0 ? 1 : norm === "l2" ? 1 / Math.sqrt(sum) : 1 / sum));
      const factor = all.map((n, b) => Math.exp(node.exponent * (Math.log1p(n) - length[b])));
      const rest = unknown.map((n, b) => (norm === null || sums[b] <= 0 ? 0 : n * scale[b] * factor[b]));
      let words = 0;
      for (const [name, each] of counts) {
        const x = each.value * scale[each.block] * factor[each.block], scores = new Array(classes);
        words += x;
        const missing = node.excludes ? -Infinity : 0;
        for (let c = 0; c < classes; c++) scores[c] = node.urn ? 0 : missing + x * base[each.block][c];
        const i = place.get(name);
        for (let e = start[i]; e < start[i + 1]; e++) {
          const c = codes[e];
          scores[c] = node.urn ? urn(coef[e], x) : x * (base[each.block][c] + coef[e]);
        }
        out.words.push({ title: name, scores });
      }
      const strange = new Array(classes).fill(0), absent = intercept.slice();
      const gone = rest.reduce((sum, x) => sum + x, 0);
      for (let c = 0; c < classes; c++) {
        for (let b = 0; b < base.length; b++) strange[c] += node.urn ? 0 : rest[b] * base[b][c];
        if (node.excludes && gone > 0) strange[c] = -Infinity;
        if (node.urn) absent[c] = logGamma(total[c]) - logGamma(total[c] + words + gone);
      }
      out.besides = [{ title: "unknown words", scores: strange },
        { title: node.urn ? "the number of words" : "words that are not there", scores: absent }];
      for (const each of [...out.words, ...out.besides]) {
        for (let c = 0; c < classes; c++) out.scores[c] += each.scores[c];
      }
      return out;
    };
  }

  // A quadratic discriminant of all numbers: returns scores by class, and what each column adds to them, as the library
  // apportions it: each summand of the distance has its share of the logarithm.
  function quadratic(node) {
    const [mean, deviation, centre, whitening] = [node.mean, node.deviation, node.centre, node.whitening].map(numbers);
    const [scale, freedom, level, spread] = [node.scale, node.freedom, node.level, node.spread].map(numbers);
    const n = node.columns.length, bounded = (z) => Math.max(-node.farthest, Math.min(node.farthest, z));
    return (row) => {
      const x = node.columns.map((column) => numberIn(row, column));
      const z = x.map((v, j) => (Number.isNaN(v) ? 0 : bounded((v - mean[j]) / deviation[j])));
      const parts = node.columns.map((title) => ({ title, scores: new Array(classes).fill(0) })), scores = new Array(classes);
      for (let c = 0; c < classes; c++) {
        const d = z.map((v, j) => v - centre[c][j]), w = whitening[c], back = new Array(n).fill(0);
        for (let i = 0; i < n; i++) {
          let y = 0;
          for (let j = 0; j < n; j++) y += w[i * n + j] * d[j];
          for (let j = 0; j < n; j++) back[j] += w[i * n + j] * y;
        }
        const each = d.map((v, j) => v * back[j]), q = each.reduce((a, b) => a + b, 0);
        const log = Math.log1p(Math.max(q, 0) / scale[c]), steep = q > 0 ? log / q : 1 / scale[c];
        scores[c] = level[c] - 0.5 * freedom[c] * log;
        parts.forEach((part, j) => {
          if (!Number.isNaN(x[j])) part.scores[c] = spread[c][j] - 0.5 * freedom[c] * steep * each[j];
        });
      }
      return { scores, parts: parts.filter((_, j) => node.told[j]) };
    };
  }

  // ---------------------------------------------------------------- from rows to probabilities

  const logPrior = numbers(model.log_prior), slope = numbers(model.slope), bias = numbers(model.bias);
  // What a part of the evidence adds is tempered by the slope that all classes share.
  const tempering = slope.every((each) => each === slope[0]) ? slope[0] : 1;
  const possible = logPrior.some(Number.isFinite), prior = softmax(possible ? logPrior : logPrior.map(() => 0));
  function readTerm(term) {
    if (term.text) {
      const read = text(term.text), times = term.times ?? 1;
      const scaled = (each) => ({ ...each, scores: each.scores.map((score) => times * score) });
      return {
        title: term.title,
        words: true,
        read: (row) => {
          const found = read(row);
          return { ...scaled(found), words: found.words.map(scaled), besides: found.besides.map(scaled) };
        },
      };
    }
    if (term.quadratic) {
      const read = quadratic(term.quadratic), scaled = (scores) => scores.map((score) => term.times * score);
      return {
        title: term.title,
        rest: true,
        read: (row) => {
          const found = read(row);
          return { scores: scaled(found.scores), parts: found.parts.map((part) => ({ ...part, scores: scaled(part.scores) })) };
        },
      };
    }
    const of = formula(term.formula);
    return { title: term.title, columns: term.columns, rest: term.rest, read: (row) => ({ scores: spread(of(row)) }) };
  }

  const allTerms = model.terms.map(readTerm);
  // Rows that lack one of some columns are scored without experts.
  const gaps = model.for_gaps && {
    columns: model.for_gaps.columns,
    terms: model.for_gaps.terms.map((term) => readTerm("as" in term ? { ...model.terms[term.as], times: term.times } : term)),
  };

  function termsOf(row) {
    return gaps && gaps.columns.some((name) => row.get(name) === null || row.get(name) === undefined) ? gaps.terms : allTerms;
  }

  function spread(values) {
    return values.length === classes ? values : new Array(classes).fill(values[0]);
  }

  function softmax(scores) {
    const top = Math.max(...scores), p = scores.map((s) => Math.exp(s - top));
    const sum = p.reduce((a, b) => a + b, 0);
    return p.map((v) => v / sum);
  }

  function answer(values) {
    const row = new Map(model.inputs.map((input, i) => [input.name, values[i]]));
    const terms = termsOf(row), outputs = terms.map((term) => term.read(row));
    const evidence = new Array(classes).fill(0);
    for (const each of outputs) for (let c = 0; c < classes; c++) evidence[c] += each.scores[c];
    const unknown = terms.filter((_, t) => outputs[t].scores.some(Number.isNaN));
    if (unknown.length) return { unknown };
    const top = Math.max(...evidence), origin = Number.isFinite(top) ? top : 0;
    let scores = evidence.map((e, c) => (e === -Infinity ? -Infinity
      : logPrior[c] + slope[c] * Math.max(e - origin, -1e9) + bias[c]));
    if (scores.every((s) => s === -Infinity)) scores = possible ? logPrior : logPrior.map(() => 0);
    const posterior = softmax(scores).map((p, c) => (1 - model.mixed) * p + model.mixed * prior[c]);
    return { posterior, terms, outputs };
  }

  // ---------------------------------------------------------------- reading the form

  const form = document.getElementById("panel-form");
  const fields = model.inputs.map((_, i) => document.getElementById(`input-${i}`));

  function read(field, input) {
    if (input.kind === "choice") {
      if (field.value === "") return null;
      return field.value === "other" ? other : input.options[Number(field.value)];
    }
    if (input.kind === "text") return field.value === "" ? null : field.value;
    return field.value === "" ? null : Number(field.value);
  }

  function fill(field, input, value) {
    if (input.kind === "choice") {
      const i = value === null ? -1 : input.options.indexOf(value);
      field.value = value === null ? "" : i < 0 ? "other" : String(i);
    } else {
      field.value = value === null ? "" : String(value);
    }
  }

  // ---------------------------------------------------------------- showing the answer

  const shown = { posterior: document.getElementById("posterior"), evidence: document.getElementById("evidence") };
  const verdict = document.getElementById("verdict"), compared = document.getElementById("compared");
  const caption = document.getElementById("posterior-caption"), idle = document.getElementById("idle");
  const why = document.getElementById("why");
  const chosen = { label: document.getElementById("for-class"), against: document.getElementById("against-class") };
  const manyClasses = 12, fewClasses = 8; // of many only the likeliest few are shown
  const rows = { posterior: new Map(), evidence: new Map() };

  // As the rest of the page writes them.
  function percent(p) {
    if (p === 0 || p === 1) return `${100 * p} %`;
    return p < 0.001 ? "< 0.1 %" : p > 0.999 ? "> 99.9 %" : `${(100 * p).toFixed(1)} %`;
  }

  function signed(v) {
    if (v === Infinity) return "+∞";
    if (v === -Infinity) return "−∞";
    const rounded = Math.abs(v) < 0.005 ? 0 : v;
    return `${rounded > 0 ? "+" : rounded < 0 ? "−" : "±"}${Math.abs(rounded).toFixed(2)}`;
  }

  function element(tag, className, content) {
    const out = document.createElement(tag);
    if (className) out.className = className;
    if (content !== undefined) out.textContent = content;
    return out;
  }

  // One row of a table of bars: made once, then only changed, so that bars move.
  function line(which, key, title, isolate = true) {
    const known = rows[which].get(key);
    if (known) return known;
    const row = element("tr"), head = element("th"), name = element(isolate ? "bdi" : "span", "", title);
    head.scope = "row";
    head.append(name);
    const cell = element("td", "bar-cell"), bar = element("span", "bar");
    bar.setAttribute("aria-hidden", "true");
    cell.append(bar);
    const number = element("td", "number");
    row.append(head, cell, number);
    shown[which].append(row);
    const out = { row, bar, number, name };
    rows[which].set(key, out);
    return out;
  }

  function showPosterior(posterior, isIdle) {
    const largest = Math.max(...posterior);
    posterior.forEach((p, c) => {
      const { bar, number, row } = line("posterior", c, model.labels[c]);
      bar.style.inlineSize = `${100 * p / largest}%`;
      number.textContent = percent(p);
      row.dataset.value = String(p);
      row.classList.toggle("best", !isIdle && p === largest);
    });
    const order = posterior.map((_, c) => c).sort((a, b) => posterior[b] - posterior[a] || a - b);
    if (classes > manyClasses) {
      const top = order.slice(0, fewClasses), rest = order.slice(fewClasses);
      const others = line("posterior", "rest", `${rest.length} other classes`), sum = rest.reduce((a, c) => a + posterior[c], 0);
      for (const c of order) rows.posterior.get(c).row.hidden = !top.includes(c);
      others.bar.style.inlineSize = "0%"; // a sum is not compared with single classes
      others.number.textContent = percent(sum);
      others.row.className = "aside";
      shown.posterior.append(...top.map((c) => rows.posterior.get(c).row), others.row);
    }
    caption.textContent = (classes > manyClasses ? `The ${fewClasses} most probable of ${classes} classes` : "Probability of each class")
      + (isIdle ? ", before anything is known" : "");
    if (isIdle) verdict.replaceChildren("Nothing is filled in yet");
    else verdict.replaceChildren("Most probable: ", element("bdi", "", model.labels[order[0]]), `, ${percent(posterior[order[0]])}`);
    return order;
  }

  const mostShown = 14;  // columns and pairs; the others are added up

  function showEvidence(terms, outputs, posterior, order) {
    let first = chosen.label.value === "" ? (classes === 2 ? 1 : order[0]) : Number(chosen.label.value);
    let second = chosen.against.value === "" ? order.find((c) => c !== first) : Number(chosen.against.value);
    if (chosen.label.value === "" && second === first) first = order.find((c) => c !== second);
    const between = (scores) => {
      const d = scores[first] - scores[second];
      return Number.isNaN(d) ? 0 : d;
    };
    const odds = (scores) => tempering * between(scores);
    const parts = [["prior", "prior", between(logPrior), "aside"]];
    const columns = new Map(); // what each column and pair adds, with its part of experts
    const add = (title, scores) => columns.set(title, (columns.get(title) ?? 0) + odds(scores));
    terms.forEach((term, t) => {
      for (const part of outputs[t].parts ?? []) add(part.title, part.scores);
      if (term.rest) return; // what no column tells is part of the rest
      if (!term.words) {
        add(term.title, outputs[t].scores);
        return;
      }
      const prefix = term.title ? `${term.title}: ` : "";
      const words = outputs[t].words.map((w) => [w.title, odds(w.scores)]).sort((a, b) => Math.abs(b[1]) - Math.abs(a[1]));
      for (const [word, v] of words.slice(0, 20)) parts.push([`word ${t} ${word}`, prefix + word, v, "word"]);
      const others = words.slice(20).reduce((sum, [, v]) => sum + v, 0);
      if (words.length > 20) parts.push([`more ${t}`, `${prefix}${words.length - 20} further words`, others, "aside"]);
      for (const each of outputs[t].besides) {
        if (odds(each.scores)) parts.push([`besides ${t} ${each.title}`, prefix + each.title, odds(each.scores), "aside"]);
      }
    });
    for (const [title, v] of columns) parts.push([`column ${title}`, title, v, ""]);
    const said = parts.filter((part) => part[3] === "").sort((a, b) => Math.abs(b[2]) - Math.abs(a[2]));
    const hidden = new Set(said.filter((part, i) => i >= mostShown || Math.abs(part[2]) < 0.005));
    const left = [...hidden].reduce((a, part) => a + part[2], 0);
    const others = parts.filter((part) => part[3] !== ""), isPrior = (part) => part[0] === "prior";
    parts.splice(0, parts.length, ...others.filter(isPrior), ...said.filter((part) => !hidden.has(part)),
      ...others.filter((part) => !isPrior(part)));
    if (Math.abs(left) >= 0.005) parts.push(["others", `${hidden.size} others`, left, "aside"]);
    const sum = between(posterior.map(Math.log));
    const rest = sum - left * (Math.abs(left) < 0.005) - parts.reduce((a, part) => a + part[2], 0);
    if (model.calibrated) parts.push(["rest", "rest", Number.isNaN(rest) ? 0 : rest, "aside"]);
    parts.push(["sum", "log-odds", sum, "sum"]);
    // The rest is no evidence: where probabilities are near 1 it is large, and would make all bars short.
    const finite = parts.filter((part) => part[0] !== "rest").map((part) => Math.abs(part[2])).filter(Number.isFinite);
    const widest = Math.max(...finite) || 1, wanted = new Set(parts.map((part) => part[0]));
    for (const [key, own] of rows.evidence) {
      if (!wanted.has(key)) {
        own.row.remove();
        rows.evidence.delete(key);
      }
    }
    for (const [key, title, v, className] of parts) {
      const own = line("evidence", key, title);
      own.row.className = className;
      const share = Number.isFinite(v) ? Math.min(Math.abs(v) / widest, 1) : v ? 1 : 0;
      own.bar.style.inlineSize = `${50 * share}%`;
      own.bar.style.marginInlineStart = v < 0 ? `${50 - 50 * share}%` : "50%";
      own.bar.classList.toggle("against", v < 0);
      own.number.textContent = signed(v);
      own.row.dataset.value = String(v);
      shown.evidence.append(own.row);
    }
    compared.replaceChildren("What speaks for ", element("bdi", "", model.labels[first]), " (right) against ",
      element("bdi", "", model.labels[second]), " (left), in log-odds");
  }

  function show() {
    const values = fields.map((field, i) => read(field, model.inputs[i])), isIdle = values.every((value) => value === null);
    const found = answer(values);
    idle.hidden = !isIdle;
    if (why) why.hidden = isIdle;
    form.classList.toggle("waiting", Boolean(found.unknown));
    if (found.unknown) {
      const names = found.unknown.map((term) => term.title).join("; ");
      verdict.replaceChildren("These columns speak together: fill in all of ", element("bdi", "", names));
      return;
    }
    const order = showPosterior(found.posterior, isIdle);
    if (classes > 1 && !isIdle) showEvidence(found.terms, found.outputs, found.posterior, order);
  }

  function use(values) {
    fields.forEach((field, i) => fill(field, model.inputs[i], values[i]));
    show();
  }

  form.addEventListener("input", show);
  form.addEventListener("submit", (event) => event.preventDefault());
  for (const select of Object.values(chosen)) if (select) select.addEventListener("change", show);
  document.getElementById("clear").addEventListener("click", () => use(fields.map(() => null)));
  const example = document.getElementById("example");
  if (example) {
    example.addEventListener("change", () => {
      if (example.value !== "") use(model.examples[Number(example.value)]);
      example.value = "";
    });
  }
  document.getElementById("panel-answer").hidden = false;
  show();

  // For whoever wants to ask the page itself: values in the order of its inputs, null for a missing one.
  window.suffice = { inputs: model.inputs, posterior: (values) => answer(values).posterior, logGamma };
})();
